package transfer_test

import (
	"os"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
)

func TestMain(m *testing.M) { os.Exit(nodetest.Run(m)) }
