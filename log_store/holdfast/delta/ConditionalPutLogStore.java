package holdfast.delta;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.VersionInfo;

/**
 * Writes Delta's log to S3 with a conditional PUT ({@code If-None-Match: *}), so that of several
 * drivers that commit one version, exactly one wins.
 *
 * <p>Every file carries an identity of its writing as metadata. After an error the file is looked
 * at: the identity says whether this writing won, whatever became of the answer.
 *
 * <p>It needs S3A of Hadoop 3.4.2 or later: earlier ones cannot send the condition.
 */
public class ConditionalPutLogStore extends HadoopFileSystemLogStore {
  private static final String CONDITION = "fs.option.create.conditional.overwrite";
  private static final String WITHOUT_LOOKING = "fs.s3a.create.performance";
  private static final String METADATA = "fs.s3a.create.header.";
  private static final String IDENTITY = "holdfast-write";
  private static final String ATTRIBUTE = "header." + IDENTITY;
  private static final int TRIES_ON_CONFLICT = 5;

  /** Buckets whose store was seen to refuse a second writing. */
  private static final Map<String, Boolean> KEEPS_CONDITION = new ConcurrentHashMap<>();

  /** As Delta makes every LogStore. */
  public ConditionalPutLogStore(Configuration conf) {
    super(conf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
      throws IOException {
    // All of it before the file is begun: an iterator that fails must not leave half a commit.
    byte[] content = joined(actions);
    FileSystem fs = path.getFileSystem(conf);
    if (overwrite) {
      put(fs.createFile(path).overwrite(true).recursive(), content);
      return;
    }
    if (!fs.hasPathCapability(path, CONDITION)) {
      throw new UnsupportedOperationException(
          "holdfast.delta.ConditionalPutLogStore cannot write " + path + ": " + fs.getClass()
              + " of Hadoop " + VersionInfo.getVersion() + " sends no conditional PUT. It needs S3A"
              + " of Hadoop 3.4.2 or later, and fs.s3a.create.conditional.enabled not false.");
    }
    String identity = UUID.randomUUID().toString();
    for (int left = TRIES_ON_CONFLICT; ; left--) {
      try {
        putIfAbsent(fs, path, content, identity);
        break;
      } catch (IOException error) {
        Boolean won = looked(fs, path, identity, error);
        if (won != null && won) {
          break;
        }
        if (won != null) {
          FileAlreadyExistsException lost = new FileAlreadyExistsException(path.toString());
          lost.initCause(error);
          throw lost;
        }
        if (left == 1 || !isConflict(error)) {
          throw error; // nothing is there, or not yet: whoever reads the log later will know
        }
      }
    }
    checkStore(fs, path, content, identity);
  }

  /** A PUT is seen when it is complete. */
  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration conf) {
    return false;
  }

  private static byte[] joined(Iterator<String> actions) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (actions.hasNext()) {
      all.write(actions.next().getBytes(StandardCharsets.UTF_8));
      all.write('\n');
    }
    return all.toByteArray();
  }

  private static void putIfAbsent(FileSystem fs, Path path, byte[] content, String identity)
      throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = fs.createFile(path).overwrite(false).recursive();
    builder.must(CONDITION, true);
    builder.must(METADATA + IDENTITY, identity);
    builder.opt(WITHOUT_LOOKING, true);
    put(builder, content);
  }

  private static void put(FSDataOutputStreamBuilder<?, ?> builder, byte[] content)
      throws IOException {
    FSDataOutputStream out = builder.build();
    try {
      out.write(content);
    } catch (IOException | RuntimeException error) {
      out.abort(); // closing would complete the file with what came through
      throw error;
    }
    out.close();
  }

  /** Returns whether the file is of this writing; null when there is none. */
  private static Boolean looked(FileSystem fs, Path path, String identity, IOException error)
      throws IOException {
    try {
      byte[] found = fs.getXAttrs(path).get(ATTRIBUTE);
      return found != null && identity.equals(new String(found, StandardCharsets.UTF_8));
    } catch (FileNotFoundException absent) {
      return null;
    } catch (IOException unknown) {
      error.addSuppressed(unknown);
      throw error;
    }
  }

  /** Returns whether the store answered 409: S3 then asks for the same request once more. */
  private static boolean isConflict(Throwable error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      String said = String.valueOf(each.getMessage());
      if (said.contains("ConditionalRequestConflict") || said.contains("Status Code: 409")) {
        return true;
      }
    }
    return false;
  }

  /**
   * Writes the first file of each bucket a second time, which the store must refuse.
   *
   * <p>The bytes are the same. A store that takes them ignores the condition.
   */
  private static void checkStore(FileSystem fs, Path path, byte[] content, String identity)
      throws IOException {
    String bucket = fs.getUri().toString();
    if (KEEPS_CONDITION.containsKey(bucket)) {
      return;
    }
    try {
      putIfAbsent(fs, path, content, identity);
    } catch (IOException refused) {
      if (refused.getClass().getSimpleName().equals("RemoteFileChangedException")
          || refused instanceof org.apache.hadoop.fs.FileAlreadyExistsException) {
        KEEPS_CONDITION.put(bucket, true);
      } // another error says nothing: the next file is written twice
      return;
    }
    throw new IOException(
        path + " was written, but its store ignores If-None-Match: two drivers can replace each"
            + " other's commits there. Do not use holdfast.delta.ConditionalPutLogStore with it.");
  }
}
