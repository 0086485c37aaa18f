package item

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyMembersTakeLinearTime reads bodies of about a megabyte, the most that is accepted, which take half a minute where
// each member is looked up among all of them.
func TestManyMembersTakeLinearTime(t *testing.T) {
	const members = 70_000
	for name, body := range map[string]struct{ before, member, after string }{
		"submission": {`{"submission":{`, `"m%05d":"x"`, `},` + minimal + `}`},
		"tags":       {`{"tags":{`, `"m%05d":[]`, `},` + minimal + `}`},
		"references": {`{"content":{"content_type":"text",`, `"platform_ref:%05d":""`, `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(body.before)
			for i := range members {
				if i > 0 {
					b.WriteByte(',')
				}
				// Backwards, so that each is the first by name so far.
				fmt.Fprintf(&b, body.member, members-i)
			}
			b.WriteString(body.after)
			start := time.Now()
			_, err := ParseLine([]byte(b.String()), testOptions())
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
			if name != "references" {
				refused(t, err, false, name)
			}
		})
	}
}
