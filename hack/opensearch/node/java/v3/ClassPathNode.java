import java.util.ArrayList;
import java.util.List;
import org.opensearch.Version;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.PluginInfo;

/** A node of OpenSearch 3, which takes modules as descriptions. */
final class ClassPathNode extends Node {
    ClassPathNode(Environment environment, List<Class<? extends Plugin>> modules) {
        super(environment, describe(modules), true);
    }

    private static List<PluginInfo> describe(List<Class<? extends Plugin>> modules) {
        List<PluginInfo> infos = new ArrayList<>();
        for (Class<? extends Plugin> c : modules) {
            // Painless loads its extensions through the class loader of one of them. Here, all modules share one class loader.
            boolean painless = c.getSimpleName().equals("PainlessModulePlugin");
            boolean extension = c.getSimpleName().equals("CommonAnalysisModulePlugin");
            infos.add(new PluginInfo(
                painless ? "lang-painless" : c.getSimpleName(), "a module on the class path", "NA", Version.CURRENT,
                Integer.toString(Runtime.version().feature()), c.getName(), null,
                extension ? List.of("lang-painless") : List.of(), false));
        }
        return infos;
    }
}
