package item

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyMembersTakeLinearTime parses bodies of about one megabyte, the maximum size. It would take half a minute if each member were
// looked up among all others.
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
				// Number the members in reverse order, so that each name sorts before all previous ones.
				fmt.Fprintf(&b, body.member, members-i)
			}
			b.WriteString(body.after)
			start := time.Now()
			_, err := ParseLine([]byte(b.String()), testOptions())
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
			if name == "submission" {
				refused(t, err, false, name)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
