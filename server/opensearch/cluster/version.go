package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

// oldestVersion is the oldest version of OpenSearch with which this package is tested.
var oldestVersion = [2]int{2, 19}

// CheckVersion checks the service at the URLs. If the service does not respond, it fails with library.ErrUnavailable. It fails with another
// error if the service is not a supported version of OpenSearch or rejects the credentials.
func (c *Client) CheckVersion(ctx context.Context) error {
	var about service
	err := c.Do(ctx, http.MethodGet, "/", nil, &about)
	switch {
	case isForeign(err):
		return errors.New("the server at the URL is not OpenSearch: check the URL")
	case hasStatus(err, http.StatusUnauthorized):
		return errors.New("OpenSearch refuses the credentials (401): check the username and the password")
	case hasStatus(err, http.StatusForbidden):
		return errors.New("OpenSearch denies access to this user (403): grant the user the permission cluster:monitor/main")
	case errors.Is(err, library.ErrUnavailable) || ctx.Err() != nil:
		return err
	case err != nil || about.Version.Distribution != "opensearch":
		return errors.New("the server at the URL is not OpenSearch: check the URL")
	}
	var is [2]int
	_, err = fmt.Sscanf(about.Version.Number, "%d.%d", &is[0], &is[1])
	if err != nil || slices.Compare(is[:], oldestVersion[:]) < 0 {
		return fmt.Errorf("OpenSearch %s is not supported: use %d.%d or newer", about.Version.Number, oldestVersion[0], oldestVersion[1])
	}
	return nil
}

// service describes what answers at a URL.
type service struct {
	Version struct {
		Distribution string `json:"distribution"`
		Number       string `json:"number"`
	} `json:"version"`
}

// Lacks returns "", because CheckVersion must describe services other than OpenSearch too.
func (*service) Lacks() string { return "" }
