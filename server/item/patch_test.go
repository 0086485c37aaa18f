package item

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatchRejects checks that a patch tells whether it rejects an item of any kind.
func TestPatchRejects(t *testing.T) {
	for text, want := range map[string]bool{
		`{"approval_status":"rej"}`: true, `{"approval_status":"rej","content":{"text":null},"submission":null}`: true,
		`{"approval_status":"app"}`: false, `{"approval_status":"pen"}`: false,
		`{"content":{"text":"rej"}}`: false, `{}`: false,
	} {
		p, err := ParsePatch([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Rejects(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestPatch(t *testing.T) {
	twelve := int64(12)
	for name, tc := range map[string]struct {
		patch string
		// change changes everything() to the expected item.
		change func(*Item)
	}{
		"nothing":                     {`{}`, func(*Item) {}},
		"unknown members are ignored": {`{"id":1,"claimedd":0,"content":{"author":5,"x":null},"tags":{}}`, func(*Item) {}},
		"a status":                    {`{"approval_status":"rej"}`, func(it *Item) { it.ApprovalStatus = Rejected }},
		"flags": {
			`{"featured":false,"claimed":false,"entry_confirmation_sent":false}`,
			func(it *Item) { it.Featured, it.Claimed, it.EntryConfirmationSent = false, false, false },
		},
		"a campaign":               {`{"campaign":12.0}`, func(it *Item) { it.Campaign = &twelve }},
		"no campaign":              {`{"campaign":null}`, func(it *Item) { it.Campaign = nil }},
		"units":                    {`{"activate_units":[7,5,7]}`, func(it *Item) { it.Units = []int64{7, 5} }},
		"no units":                 {`{"activate_units":[]}`, func(it *Item) { it.Units = nil }},
		"units taken away":         {`{"activate_units":null}`, func(it *Item) { it.Units = nil }},
		"a submission is merged":   {`{"submission":{"username":"ann","email":null,"gone":null}}`, func(it *Item) { it.Submission = json.RawMessage(`{"username":"ann"}`) }},
		"no submission":            {`{"submission":null}`, func(it *Item) { it.Submission = nil }},
		"an emptied submission":    {`{"submission":{"email":null}}`, func(it *Item) { it.Submission = nil }},
		"a configuration merged":   {`{"configuration":{"b":{"c":[1,null],"d":null}}}`, func(it *Item) { it.Configuration = json.RawMessage(`{"a":1,"b":{"c":[1,null]}}`) }},
		"a configuration replaced": {`{"configuration":[1]}`, func(it *Item) { it.Configuration = json.RawMessage(`[1]`) }},
		"a configuration emptied":  {`{"configuration":{"a":null}}`, func(it *Item) { it.Configuration = json.RawMessage(`{}`) }},
		"no configuration":         {`{"configuration":null}`, func(it *Item) { it.Configuration = nil }},
		"a text":                   {`{"content":{"text":"New"}}`, func(it *Item) { it.Content.Text = "New" }},
		"no text on an image":      {`{"content":{"text":null}}`, func(it *Item) { it.Content.Text = "" }},
		"a state":                  {`{"content":{"content_state":"inactive"}}`, func(it *Item) { it.Content.ContentState = "inactive" }},
		"no state":                 {`{"content":{"content_state":null}}`, func(it *Item) { it.Content.ContentState = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePatch([]byte(tc.patch))
			if err != nil {
				t.Fatal(err)
			}
			before, got, want := everything(), everything(), everything()
			shallow := *got
			if err := p.Apply(&shallow); err != nil {
				t.Fatal(err)
			}
			tc.change(want)
			if diff := cmp.Diff(want, &shallow); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, got); diff != "" {
				t.Errorf("Apply wrote through a shallow copy:\n%s", diff)
			}
			again := shallow
			if err := p.Apply(&again); err != nil || !cmp.Equal(shallow, again) {
				t.Errorf("a second Apply changed something: %v", err)
			}
		})
	}
}

func TestPatchOfEmptyItem(t *testing.T) {
	p, err := ParsePatch([]byte(`{"submission":{"email":"a@b.example","x":null},"configuration":{"a":{"b":null}},"campaign":0}`))
	if err != nil {
		t.Fatal(err)
	}
	got, campaign := Item{}, int64(0)
	if err := p.Apply(&got); err != nil {
		t.Fatal(err)
	}
	want := Item{Submission: json.RawMessage(`{"email":"a@b.example"}`), Configuration: json.RawMessage(`{"a":{}}`), Campaign: &campaign}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPatchUnits(t *testing.T) {
	for patch, want := range map[string]struct {
		ids []int64
		has bool
	}{
		`{}`:                        {nil, false},
		`{"activate_units":null}`:   {nil, true},
		`{"activate_units":[3, 1]}`: {[]int64{3, 1}, true},
	} {
		p, err := ParsePatch([]byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		ids, has := p.Units()
		if has != want.has || !cmp.Equal(ids, want.ids) {
			t.Errorf("%s: units %v, %v: want %v, %v", patch, ids, has, want.ids, want.has)
		}
	}
}

func TestParsePatchRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		patch     string
		malformed bool
		member    string
	}{
		"nothing":                   {``, true, ""},
		"a list":                    {`[]`, true, ""},
		"null":                      {`null`, true, ""},
		"no status":                 {`{"approval_status":null}`, false, "approval_status"},
		"an unknown status":         {`{"approval_status":"ok"}`, false, "approval_status"},
		"a status as a number":      {`{"approval_status":1}`, true, "approval_status"},
		"no flag":                   {`{"featured":null}`, false, "featured"},
		"not claimed":               {`{"claimed":null}`, false, "claimed"},
		"a flag as a string":        {`{"claimed":"yes"}`, true, "claimed"},
		"a campaign as a string":    {`{"campaign":"12"}`, true, "campaign"},
		"units as a number":         {`{"activate_units":5}`, true, "activate_units"},
		"a unit as an object":       {`{"activate_units":[{"id":5}]}`, true, "activate_units"},
		"a unit as a string":        {`{"activate_units":["5"]}`, true, "activate_units[0]"},
		"a unit out of range":       {`{"activate_units":[0]}`, false, "activate_units[0]"},
		"a submission as a string":  {`{"submission":"x"}`, true, "submission"},
		"a submission's number":     {`{"submission":{"age":5}}`, true, "submission.age"},
		"a submission's long value": {`{"submission":{"x":"` + strings.Repeat("x", MaxString+1) + `"}}`, false, "submission.x"},
		"content as a string":       {`{"content":"x"}`, true, "content"},
		"no content":                {`{"content":null}`, false, "content"},
		"a text as a number":        {`{"content":{"text":5}}`, true, "content.text"},
		"a long text":               {`{"content":{"text":"` + strings.Repeat("x", MaxText+1) + `"}}`, false, "content.text"},
		"a state as a number":       {`{"content":{"content_state":5}}`, true, "content.content_state"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePatch([]byte(tc.patch))
			if err == nil {
				t.Fatal("accepted")
			}
			refused(t, err, tc.malformed, tc.member)
		})
	}
}

func TestRefusedPatchChangesNothing(t *testing.T) {
	keys := func(from, n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[string(rune('a'+(from+i)/26))+string(rune('a'+(from+i)%26))] = "x"
		}
		return m
	}
	raw := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, tc := range map[string]struct {
		item   Item
		patch  string
		member string
	}{
		"a text item without a text": {Item{Content: Content{ContentType: Text, Text: "x"}}, `{"featured":true,"content":{"text":" "}}`, "content.text"},
		"a submission grown too long": {
			Item{Submission: raw(keys(0, 60))}, `{"featured":true,"submission":` + string(raw(keys(60, 60))) + `}`, "submission",
		},
		"a configuration grown too long": {
			Item{Configuration: raw(map[string]string{"a": strings.Repeat("x", MaxRaw/2)})},
			`{"featured":true,"configuration":{"b":"` + strings.Repeat("x", MaxRaw/2) + `"}}`, "configuration",
		},
		"a configuration with a number that has no double": {Item{}, `{"featured":true,"configuration":1e999}`, "configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePatch([]byte(tc.patch))
			if err != nil {
				t.Fatal(err)
			}
			got := tc.item
			err = p.Apply(&got)
			if err == nil {
				t.Fatal("accepted")
			}
			refused(t, err, false, tc.member)
			if diff := cmp.Diff(tc.item, got); diff != "" {
				t.Errorf("half applied:\n%s", diff)
			}
		})
	}
}
