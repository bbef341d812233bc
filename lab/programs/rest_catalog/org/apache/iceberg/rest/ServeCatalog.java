package org.apache.iceberg.rest;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.apache.iceberg.util.Pair;

/** Iceberg's own reference REST catalog, of its tests, behind the HTTP server of the JDK. */
public final class ServeCatalog {
  private final RESTCatalogAdapter adapter;

  private ServeCatalog(Catalog catalog) {
    this.adapter = new RESTCatalogAdapter(catalog);
  }

  /** Serves the catalog that NAME=VALUE properties describe at a port of the loopback. */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    for (int at = 1; at < arguments.length; at++) {
      String[] pair = arguments[at].split("=", 2);
      properties.put(pair[0], pair[1]);
    }
    Catalog catalog = CatalogUtil.buildIcebergCatalog("ice", properties, new Configuration());
    int port = Integer.parseInt(arguments[0]);
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.createContext("/", new ServeCatalog(catalog)::answer);
    server.start();
  }

  private void answer(HttpExchange exchange) {
    int status = 200;
    byte[] body = new byte[0];
    ErrorResponse[] refused = new ErrorResponse[1];
    try {
      Object answered = ask(exchange, refused);
      if (answered != null) {
        body = RESTObjectMapper.mapper().writeValueAsBytes(answered);
      }
    } catch (Exception error) {
      if (refused[0] == null) {
        refused[0] =
            ErrorResponse.builder().responseCode(500).withMessage(String.valueOf(error)).build();
      }
    }
    try {
      if (refused[0] != null) {
        status = refused[0].code();
        body = RESTObjectMapper.mapper().writeValueAsBytes(refused[0]);
      }
      exchange.getResponseHeaders().add("Content-Type", "application/json");
      boolean isEmpty = body.length == 0 || exchange.getRequestMethod().equals("HEAD");
      exchange.sendResponseHeaders(status, isEmpty ? -1 : body.length);
      if (!isEmpty) {
        exchange.getResponseBody().write(body);
      }
    } catch (Exception error) {
      // The client is gone.
    } finally {
      exchange.close();
    }
  }

  private Object ask(HttpExchange exchange, ErrorResponse[] refused) throws Exception {
    HTTPRequest.HTTPMethod method = HTTPRequest.HTTPMethod.valueOf(exchange.getRequestMethod());
    String path = exchange.getRequestURI().getRawPath().substring(1);
    Pair<Route, Map<String, String>> route = Route.from(method, path);
    if (route == null) {
      refused[0] = ErrorResponse.builder().responseCode(404).withMessage("no such route").build();
      return null;
    }
    byte[] given = exchange.getRequestBody().readAllBytes();
    Object body =
        route.first().requestClass() == null || given.length == 0
            ? null
            : RESTObjectMapper.mapper().readValue(given, route.first().requestClass());
    HTTPRequest request =
        adapter.buildRequest(method, path, queryOf(exchange), new HashMap<>(), body);
    return adapter.execute(
        request, route.first().responseClass(), error -> refused[0] = error, headers -> {});
  }

  private static Map<String, String> queryOf(HttpExchange exchange) {
    Map<String, String> found = new HashMap<>();
    String text = exchange.getRequestURI().getRawQuery();
    for (String each : text == null ? new String[0] : text.split("&")) {
      String[] pair = each.split("=", 2);
      String value = pair.length < 2 ? "" : pair[1];
      found.put(pair[0], URLDecoder.decode(value, StandardCharsets.UTF_8));
    }
    return found;
  }
}
