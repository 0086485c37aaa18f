import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.plugins.Plugin;

/**
 * Runs one OpenSearch node in this JVM: Main DIR PORT [setting=value ...]. It prints a line that begins with "ready" once the
 * node answers, and closes the node when the standard input ends.
 */
public final class Main {
    public static void main(String[] args) throws Exception {
        Path dir = Path.of(args[0]).toAbsolutePath();
        int port = Integer.parseInt(args[1]);
        Files.createDirectories(dir.resolve("config"));
        Settings.Builder settings = Settings.builder()
            .put("path.home", dir.toString())
            .put("path.data", dir.resolve("data").toString())
            .put("path.logs", dir.resolve("logs").toString())
            .put("cluster.name", "vitrine")
            .put("node.name", "n1")
            .put("network.host", "127.0.0.1")
            .put("http.port", port)
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
        for (int i = 2; i < args.length; i++) {
            int eq = args[i].indexOf('=');
            settings.put(args[i].substring(0, eq), args[i].substring(eq + 1));
        }
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), dir.resolve("config"), () -> "n1");
        ClassPathNode node = new ClassPathNode(environment, modules());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
                node.awaitClose(30, TimeUnit.SECONDS);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }));
        node.start();
        // Do not ask over HTTP, which can need TLS and credentials.
        boolean late = node.client().admin().cluster().prepareHealth().setWaitForYellowStatus().setTimeout("60s").get().isTimedOut();
        if (late) {
            System.err.println("the cluster is not ready");
            System.exit(1);
        }
        System.out.println("ready http://127.0.0.1:" + port + " OpenSearch " + org.opensearch.Version.CURRENT);
        System.out.flush();
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }

    /** Every jar of org.opensearch.plugin on the class path is a module, with one class whose name ends with Plugin. */
    private static List<Class<? extends Plugin>> modules() throws Exception {
        List<Class<? extends Plugin>> found = new ArrayList<>();
        for (String jar : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!jar.replace('\\', '/').contains("/org/opensearch/plugin/")) {
                continue;
            }
            try (JarFile file = new JarFile(jar)) {
                for (String name : file.stream().map(e -> e.getName()).toList()) {
                    if (name.endsWith("Plugin.class") && !name.contains("$")) {
                        Class<?> c = Class.forName(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                        // The security plugin contains a second such class, for TLS.
                        if (Plugin.class.isAssignableFrom(c) && !c.getSimpleName().equals("OpenSearchSecuritySSLPlugin")) {
                            found.add(c.asSubclass(Plugin.class));
                        }
                    }
                }
            }
        }
        return found;
    }
}
