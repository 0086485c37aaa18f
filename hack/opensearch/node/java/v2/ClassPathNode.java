import java.util.List;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/** A node of OpenSearch 2, which takes modules as classes. */
final class ClassPathNode extends Node {
    ClassPathNode(Environment environment, List<Class<? extends Plugin>> modules) {
        super(environment, modules, true);
    }
}
