package search_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// leafText returns a random clause of a query.
func (w *world) leafText() string {
	date := func() string {
		return w.choice("now-1d", "now", "now-3d/d", "2026-11", "2025", "*", "2026-11-19", "now+2d")
	}
	tagField := "tags." + w.choice(namespaces...)
	switch w.IntN(32) {
	case 0, 1, 2, 3:
		return w.word()
	case 4:
		return w.choice("text", "author.profile.name", "content.platform_data.location.name") + ":" + w.word()
	case 5:
		return fmt.Sprintf(`"%s %s"`, w.word(), w.word()) + w.choice("", "", "~1", "~3")
	case 6:
		return fmt.Sprintf(`text:"%s %s %s"~%d`, w.word(), w.word(), w.word(), w.IntN(6))
	case 7:
		return w.choice("bea*", "s?n", "*ch", "sum*r", "text:c*", "author:*_1", "пля*", "author:*", "*")
	case 8:
		return w.choice("/b[ea]+ch/", "text:/su.*/", "author:/[a-c].*/", `author:/.*_1/`, "/s@&@n/", "author:/@_<1-2>/", "/20<20-30>/", "text:/[a-m]@&@[^h]/")
	case 9, 10:
		return w.word() + w.choice("~", "~1", "~2")
	case 11:
		return "author:" + w.word() + w.choice("~", "_1", "*")
	case 12:
		return w.choice("created_on", "content.social_platform_created_on") + ":" + w.choice("[", "{") + date() + " TO " + date() + w.choice("]", "}")
	case 13:
		return w.choice("id", "campaign") + ":" + w.choice(">", "<=", "") + strconv.Itoa(w.IntN(100))
	case 14:
		return fmt.Sprintf("content.platform_data.geo_data.coordinates.latitude:[%d TO %d]", w.IntN(10)-8, w.IntN(10)-2)
	case 15:
		return w.choice("featured:true", "featured:false", "claimed:[false TO true]", "claimed:true")
	case 16:
		return w.choice("_exists_", "_missing_") + ":" + w.choice("campaign", "text", "author", "tags", "tags.vibe", "activate_units", "created_on",
			"activate_units.name", "default_activate_unit.name", "submission", "content.platform_data.location", "nothing", "author.profile.name",
			"content.platform_data.location.name", `content.platform_ref\:instagram`, `content.platform_ref\:\*`)
	case 17:
		return w.choice("content_type:image", "content_type:(image,video)", "social_platform:twitter", "approval_status:[a TO p]")
	case 18, 19:
		return tagField + ":" + w.choice(tagKeys...) + w.choice("", "", "~", "*")
	case 20:
		return w.choice(tagField+":[b TO s}", tagField+":/[bs].*/", `tags.\*:`+w.choice(tagKeys...), "tags.fresh:new", `tags.\*:s*`, "tags.vibe:(beach,loud)")
	case 21, 22:
		return "activate_units.name:" + w.word() + w.choice("", "", "~", "*")
	case 23:
		return fmt.Sprintf(`activate_units.name:"%s %s"`, w.word(), w.word()) + w.choice("", "~2")
	case 24:
		return w.choice("activate_units.id:[2 TO 4]", "activate_units.archived:true", "activate_units.image_url:*png", "activate_units.external_id:sun~",
			"activate_units.id:3", "activate_units.managed:false", `activate_units.catalog_item:sun`)
	case 25:
		return w.choice("default_activate_unit.id:99", "default_activate_unit.archived:false", "default_activate_unit.name:"+w.word(),
			"default_activate_unit.created_on:["+date()+" TO "+date()+"]", "activate_units.created_on:[now-20d TO now]")
	case 26:
		return w.choice("submission.email:*", "submission.age:7", "submission.email:beach~", `submission.\*:7*`)
	case 27:
		return w.choice("*:*", "nowhere:x", "id:5 id:6", `content.\*:`+w.word(), `content.platform_ref\:instagram:*`,
			`content.platform_ref\:Twitter:100*`, `content.platform_ref\:\*:1001`, `content.platform_ref\:instagram:son~`)
	case 28:
		return "text:(" + w.word() + "," + w.word() + ")"
	case 29:
		return "(" + w.word() + " " + w.word() + ")"
	default:
		return w.word() + " " + w.word()
	}
}

// queryText returns a random query.
func (w *world) queryText(depth int) string {
	var b strings.Builder
	for i := range 1 + w.IntN(4) {
		if i > 0 {
			b.WriteString(w.choice(" ", " ", " AND ", " OR ", " AND NOT "))
		}
		text := w.leafText()
		if depth > 0 && w.chance(3) {
			text = "(" + w.queryText(depth-1) + ")"
		} else if strings.Contains(text, " ") && !strings.ContainsAny(text, `"[{(`) {
			text = "(" + text + ")"
		}
		if s := b.String(); s == "" || strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "AND ") && !strings.HasSuffix(s, "OR ") && !strings.HasSuffix(s, "NOT ") {
			b.WriteString(w.choice("", "", "", "+", "-"))
		}
		b.WriteString(text)
		if w.chance(5) {
			b.WriteString(w.choice("^2", "^0.5", "^3.25", "^0"))
		}
	}
	return b.String()
}

func field(name string) query.Field {
	f, ok := query.Lookup(name)
	if !ok {
		panic(name)
	}
	return f
}

// node returns a random plan. Any kind of node can be in any place, including combinations that no query text produces.
func (w *world) node(depth int) plan.Node {
	text := field(w.choice("content.text", "_all", "_all", "activate_units.name", "default_activate_unit.name"))
	keyword := field(w.choice("content.author.username", "tags.vibe.key", "tags.hashtags.key", "activate_units.external_id", "content.content_type"))
	boost := float32([]float64{0, 0.5, 1, 2, 3.25, 1e-7, 1e9}[w.IntN(7)])
	n := w.IntN(20)
	if depth == 0 {
		n = w.IntN(13)
	}
	switch n {
	case 0, 1, 2:
		return plan.Term{Field: text, Text: w.word()}
	case 3:
		return plan.Term{Field: keyword, Text: w.choice("beach", "summer", "sun", "image")}
	case 4:
		return plan.Term{Field: field(w.choice("featured", "activate_units.archived", "default_activate_unit.archived")), Text: w.choice("true", "false")}
	case 5:
		p := plan.Phrase{Field: text, Slop: w.IntN(4)}
		at := 0
		for range w.IntN(4) {
			p.Words = append(p.Words, plan.Word{Text: w.word(), Position: at})
			at += 1 + w.IntN(2)
		}
		return p
	case 6, 7:
		return plan.Fuzzy{Field: []query.Field{text, keyword}[w.IntN(2)], Text: w.word(), Edits: w.IntN(3), MaxExpansions: w.choiceInt(1, 2, 3, 50)}
	case 8:
		source := w.choice("b*", "*n", "s?n")
		a, err := automaton.Wildcard(source)
		if err != nil {
			panic(err)
		}
		return plan.Pattern{Field: []query.Field{text, keyword}[w.IntN(2)], Automaton: a, Source: source}
	case 9:
		return plan.TermRange{Field: []query.Field{text, keyword}[w.IntN(2)], Lo: "beb", Hi: "sun", LoIncl: w.chance(2), HiIncl: w.chance(2), LoOpen: w.chance(4), HiOpen: w.chance(4)}
	case 10:
		lo := int64(w.IntN(5))
		return plan.IntRange{Field: field(w.choice("campaign", "activate_units.id", "featured", "id")), Lo: lo, Hi: lo + int64(w.IntN(3))}
	case 11:
		return plan.Exists{Field: []query.Field{text, keyword}[w.IntN(2)]}
	case 12:
		return []plan.Node{plan.All{}, plan.None{}}[w.IntN(2)]
	case 13:
		return plan.Const{Node: w.node(depth - 1), Score: boost}
	case 14:
		return plan.Boost{Node: w.node(depth - 1), Factor: boost}
	case 15:
		return plan.DisMax{Nodes: w.nodes(depth-1, 4)}
	default:
		b := plan.Bool{Must: w.nodes(depth-1, 3), Should: w.nodes(depth-1, 7), MustNot: w.nodes(depth-1, 2)}
		switch w.IntN(4) {
		case 0:
			b.Must = nil
		case 1:
			b.Should = nil
		case 2:
			b.Must, b.MustNot = nil, nil
		}
		if len(b.Must)+len(b.Should) == 0 {
			b.Must = []plan.Node{plan.Const{Node: plan.All{}}}
		}
		return b
	}
}

func (w *world) nodes(depth, most int) []plan.Node {
	list := make([]plan.Node, w.IntN(most))
	for i := range list {
		list[i] = w.node(depth)
	}
	return list
}

func (w *world) choiceOf(choices ...plan.Node) plan.Node { return choices[w.IntN(len(choices))] }

func (w *world) choiceInt(choices ...int) int { return choices[w.IntN(len(choices))] }
