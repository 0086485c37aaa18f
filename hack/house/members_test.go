package house

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNewMember adds two members to items, content.mood and score, as the row about members in CONTRIBUTING.md says. With changes in only
// the Go files of the row, all forms of an item contain the members.
func TestNewMember(t *testing.T) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	o := &overlay{t: t, root: top, files: map[string]string{}}
	const members = "server/item/members.go"
	o.insert(members, "	ContentType ", "	Mood string\n")
	o.insert(members, "	Claimed ", "	Score *int64\n	Note string\n")
	o.insert(members, `	{path: "content.text"`,
		`	{path: "content.mood", text: 45, filler: "none", patch: true, at: func(it *Item) any { return &it.Content.Mood }},`+"\n")
	o.insert(members, `	{path: "claimed"`,
		`	{path: "note", text: 46, private: true, at: func(it *Item) any { return &it.Note }},`+"\n"+
			`	{path: "score", form: formNumber, number: 5, flag: 1 << 6, private: true, at: func(it *Item) any { return &it.Score }},`+"\n")
	o.files[members] = strings.Replace(o.read(members), "const Format = 2\n", "const Format = 3\n", 1)
	o.insert("server/query/catalogue.go", `		keyword("content.content_state"`, `		keyword("content.mood", "the mood"),`+"\n")

	row := regexp.MustCompile(`(?m)^\| a member of an item \|.*$`).FindString(o.read("CONTRIBUTING.md"))
	if named := regexp.MustCompile("`[^`]+\\.go`").FindAllString(row, -1); len(named) != len(o.files) {
		t.Errorf("this test changes %d Go files, and CONTRIBUTING.md names %q for a new member", len(o.files), named)
	}
	for path := range o.files {
		if !strings.Contains(row, "`"+path+"`") {
			t.Errorf("the row about members in CONTRIBUTING.md does not name %s", path)
		}
	}

	o.files["server/item/newmember_test.go"] = newMemberTest
	const tests = "^(TestAddedMembers|TestMembersAndCatalogue|TestParseLineIsTheInverseOfMarshal|TestDecode|TestPacked|TestSlack)$"
	if out, err := o.run("test", "-v", "-run", tests, "./server/item"); err != nil || !strings.Contains(out, "--- PASS: TestAddedMembers") {
		t.Errorf("with the new members: %v\n%s", err, out)
	}
}

// newMemberTest is a test of the package item with the new members.
const newMemberTest = `package item

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestAddedMembers(t *testing.T) {
	score := int64(7)
	it := everything()
	it.Content.Mood, it.Score, it.Note = "calm", &score, "from a friend"
	again, err := Decode(Encode(it))
	if err != nil || cmp.Diff(it, again) != "" {
		t.Errorf("decoded: %v %s", err, cmp.Diff(it, again))
	}
	line, err := ParseLine(Marshal(it, nil), testOptions())
	if err != nil || cmp.Diff(it, line.Item) != "" {
		t.Errorf("from a line: %v %s", err, cmp.Diff(it, line.Item))
	}
	for _, tc := range []struct {
		it       *Item
		audience query.Audience
		text     string
		want     bool
	}{
		{it, query.Public, "\"mood\":\"calm\"", true},
		{everything(), query.Public, "\"mood\":\"none\"", true},
		{it, query.Private, "\"score\":7", true},
		{everything(), query.Private, "\"score\":0", true},
		{it, query.Private, "\"note\":\"from a friend\"", true},
		{it, query.Public, "score", false},
		{it, query.Public, "friend", false},
	} {
		got := string(Encode(tc.it).Append(nil, tc.audience, Slots{}))
		if !json.Valid([]byte(got)) {
			t.Errorf("audience %v: the response is no JSON: %s", tc.audience, got)
		}
		if strings.Contains(got, tc.text) != tc.want {
			t.Errorf("audience %v: the response contains %s: %t\n%s", tc.audience, tc.text, !tc.want, got)
		}
	}
	if got := valuesOf(it, nil, nil, nil)["content.mood"]; len(got) != 1 || got[0] != "calm" {
		t.Errorf("values of content.mood: %q", got)
	}
	p, err := ParsePatch([]byte("{\"content\":{\"mood\":\"bold\"},\"score\":9}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(it); err != nil || it.Content.Mood != "bold" || *it.Score != 7 {
		t.Errorf("patched: %v, mood %q, score %d; only the mood can be patched", err, it.Content.Mood, *it.Score)
	}
	if _, err := ParsePatch([]byte("{\"content\":{\"mood\":5}}")); err == nil || !strings.HasPrefix(err.Error(), "content.mood: ") {
		t.Errorf("a number as content.mood: %v", err)
	}
}
`
