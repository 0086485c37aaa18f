package query

import "strings"

// otherNames maps names that people often write to the fields that they mean. They are not short names of these fields: OpenSearch would
// not understand a query with them. Messages propose the field instead.
func otherNames() map[string]string {
	out := map[string]string{}
	for field, names := range map[string]string{
		"approval_status":                     "status state approval approved approval_state moderation moderated",
		"social_platform":                     "platform network social social_network channel source site app",
		"content_type":                        "type kind format media_type",
		"created_on":                          "date day month year time created created_at added added_on collected",
		LastModified:                          "modified modified_on modified_at updated updated_on updated_at changed changed_on changed_at",
		"author":                              "user user_name from by creator account handle poster",
		"author.profile.name":                 "name author_name display_name full_name",
		"hashtag.hashtag_text":                "hashtags hash hashtag_name",
		"tags.marketer_tags.key":              "tags tag label labels category",
		"text":                                "caption message body description title comment",
		"campaign":                            "campaign_id campaigns collection",
		"id":                                  "item item_id ugc ugc_id number",
		"featured":                            "star starred favorite pinned",
		"activate_units.name":                 "unit units product products",
		"media.original_url":                  "picture photo image images pictures photos",
		"content.social_platform_created_on":  "posted posted_on published published_on publish_date",
		"content.platform_data.location.name": "place location city town venue where",
		"content.platform_data.geo_data.coordinates.latitude":  "lat",
		"content.platform_data.geo_data.coordinates.longitude": "lon lng long",
		"content.platform_data.social_platform_original_url":   "url link permalink",
		"content.platform_ref":                                 "ref reference",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = field
		}
	}
	return out
}

// OtherNames returns the names that people often write instead of the name of a field, which is canonical.
func OtherNames(canonical string) []string {
	c := loadCatalogue()
	var out []string
	for name, field := range c.otherNames {
		if f, _ := Lookup(field); f.Name == canonical {
			out = append(out, name)
		}
	}
	return out
}

// CommonFields returns the canonical names of the fields that most queries use, the most common ones first.
func CommonFields() []string {
	return []string{
		"approval_status", "content.social_platform", "content.content_type", CreatedOn, "hashtag.hashtag_text", "content.author.username",
		"content.text", "campaign", "content.platform_data.location.name", "featured", "id",
	}
}

// nearestField returns the name of the field that a person probably means by name, or "" if there is none. It first looks for an exact
// match among the names that people often write, and then for the name with the smallest edit distance, if that distance is at most a third
// of the length of name. It returns only fields that the audience may use.
func nearestField(name string, a Audience) string {
	if len(name) > longestName {
		return ""
	}
	c := loadCatalogue()
	name = Fold(name)
	hidden := func(field string) bool {
		f, _ := Lookup(field)
		return !f.visibleTo(a)
	}
	if field, ok := c.otherNames[name]; ok && !hidden(field) {
		return field
	}
	best, edits := "", len([]rune(name))/3+1
	consider := func(d int, field string) {
		if d < edits || d == edits && best != "" && (len(field) < len(best) || len(field) == len(best) && field < best) {
			best, edits = field, d
		}
	}
	for _, field := range c.names {
		if field == AllField || hidden(field) {
			continue
		}
		consider(editDistance(name, field), field)
		if dot := strings.LastIndexByte(field, '.'); dot >= 0 {
			consider(editDistance(name, field[dot+1:])+1, field) // a match with only the last part counts as one more edit
		}
	}
	for other, field := range c.otherNames {
		if !hidden(field) {
			consider(editDistance(name, other), field)
		}
	}
	return best
}

// memberOf returns the name of a field in an object. It is the field that a person probably means by the name of the object, or the first.
func memberOf(object string) string {
	c := loadCatalogue()
	if field, ok := c.otherNames[object]; ok {
		return field
	}
	for _, r := range c.rows {
		if strings.HasPrefix(r.Name, object+".") {
			return r.Name
		}
	}
	return object
}

// editDistance returns the number of characters to insert, delete or replace, or of adjacent characters to swap, to turn one text into the
// other.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	// Each row contains the distances of a beginning of s to all beginnings of t.
	var before, last []int
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		before, last, row = last, row, make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(t)]
}
