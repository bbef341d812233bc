-- The dashboard's query on the serving table product_usage: the usage of each product in each hour
-- of the last day that has data, and how it changed since the hour before. A window is still open
-- while readings of its hour may arrive: for three hours after its end.
select
    product,
    window_start,
    readings,
    total,
    total - lag(total) over (partition by product order by window_start) as change,
    window_start + interval '4 hours' > max(window_start) over () + interval '1 hour' as is_open
from product_usage
where window_start > (select max(window_start) from product_usage) - interval '1 day'
order by product, window_start;
