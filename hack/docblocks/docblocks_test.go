package docblocks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAML(t *testing.T) {
	const page = "# Page\n\n```yaml\na: 1\n---\nb:\n  - 2\n```\n\n    ```sh\n    c\n    ```\n\n- point\n\n  ```yaml\n  d:\n    e: 3\n  ```\n\n```yaml\nf: 4\n"
	want := []string{"a: 1", "b:\n  - 2\n", "d:\n  e: 3\n"}
	if diff := cmp.Diff(want, YAML(page)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}
