import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.Trigger;

/** Writes lines of files by format("holdfast"), without any Python: FILES KEY=VALUE... */
public final class WriteReadings {
  private WriteReadings() {}

  public static void main(String[] given) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (int i = 1; i < given.length; i++) {
      String[] pair = given[i].split("=", 2);
      options.put(pair[0], pair[1]);
    }
    SparkSession spark = SparkSession.builder().getOrCreate();
    Dataset<Row> lines =
        spark.readStream().format("text").option("maxFilesPerTrigger", "1").load(given[0]);
    lines
        .selectExpr("CAST(split_part(value, ' ', 1) AS BIGINT) AS id", "value")
        .writeStream()
        .format("holdfast")
        .options(options)
        .trigger(Trigger.AvailableNow())
        .start()
        .awaitTermination();
  }
}
