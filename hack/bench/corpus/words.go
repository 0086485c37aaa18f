package corpus

import "strings"

// language is one language's part of the texts.
type language struct {
	share     int // texts in a hundred
	gap       string
	common    []string
	syllables []string
	words     int // in its vocabulary
}

// languages are most of what such a library holds. Japanese and Chinese stand without spaces: every character of theirs
// is a word of its own.
var languages = []language{
	{share: 62, gap: " ", words: 60000,
		common: strings.Fields(`the to and a of in i it my is for you this that on with so we at be have was but me are not all
just love day out what up your our as from one now time when they like good if can how new today life no more us back do
first happy best or little who there here over get am by an about every been only some home will after had made never
beautiful night really people summer work ready much see two know too because last week weekend their her his year days
morning beach sunset coffee friends family fun world style dress shoes outfit music live food dinner city street travel
trip mountain hiking run running yoga dog cat baby birthday party wedding winter spring autumn snow rain sun sea ocean
lake park garden flowers art design photo picture video favorite perfect amazing awesome cute pretty cool fresh sweet
delicious cake chocolate pizza burger tea wine beer breakfast lunch market shop sale gift win giveaway thanks thank
excited obsessed blessed lucky proud grateful vibes mood goals inspo look looks wearing wear jacket jeans bag hat
sneakers collection brand colour red blue green black white pink gold vintage sunshine adventure explore wander`),
		syllables: strings.Fields(`ba ber bra can car co con dal dar den der di dor el en er fan fer fin for gal gen gra
hal ham har hol in is jo ka ker la lan le len li lin lo lor ma man mar mel mer mi mon na nel ner ni no nor ol on or pa
par pel per pi por qui ra ram re ren ri rin ro ron sa sal san se sel ser si so sta ster ta tan te tel ter ti to ton tor
tra un ur va van ver vi vo wa wen wil win yo za zen`)},
	{share: 8, gap: " ", words: 15000,
		common: strings.Fields(`de la que el en y a los se del las un por con no una su para es al lo como más pero sus le ya o
este sí porque esta entre cuando muy sin sobre también me hasta hay donde quien todo playa verano sol café amigos familia
día noche vida amor gracias feliz mejor nuevo mañana tarde ciudad viaje montaña música comida`),
		syllables: strings.Fields(`ca co da de do el en es fi ga gu la lo ma mi na no pa pe po que ra ri ro sa se so ta te to
tra va ve vi za ción dad mente`)},
	{share: 7, gap: " ", words: 15000,
		common: strings.Fields(`der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden
aus er hat dass sie nach wird bei einer um am sind noch wie einem über so zum war haben nur oder aber vor zur bis mehr
strand sommer kaffee freunde familie stadt reise berge musik essen liebe leben schön heute morgen abend wochenende`),
		syllables: strings.Fields(`ab an be ber burg chen der dorf ein er fahrt ge gen haus heit ig in keit land lich ling ma
mut nis rich rot sam schaft schön sel ster stein tag tal te ung ver wald weg wein zeit`)},
	{share: 6, gap: " ", words: 12000,
		common: strings.Fields(`de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont la
mais comme on tout nous sa fait été aussi leur bien peut ces y sans ou son avec plage été soleil café amis famille
ville voyage montagne musique amour vie belle jour nuit matin`),
		syllables: strings.Fields(`au beau bri ca cham che cou dé é eau en fleu fri gne ier ille jou lai le mai mer mon nou
oir pa pré qué ré rou sé soi té tion tou ve vie`)},
	{share: 6, gap: " ", words: 12000,
		common: strings.Fields(`и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой что весь год от
так о для ты же все тот мочь вы человек такой его сказать один какой море лето кофе друзья семья город солнце музыка
любовь жизнь день ночь утро`),
		syllables: strings.Fields(`ба ве га до е жи за ка ко ле ли ма ми на но о па ре ро са се ста та те то тра у фе хо ча ша
щи ния ный ость`)},
	{share: 6, gap: "", words: 1800, common: strings.Split("のにはをたがでてとしれさあいうえおかきくけこそちつなねはひふへほまみむめもやゆよらりるろわん海空山川花雪夏春秋冬朝夜", ""),
		syllables: nil},
	{share: 5, gap: " ", words: 9000,
		common: strings.Fields(`في من على إلى عن مع هذا هذه التي الذي كان ما لا أن إن كل يوم حب صباح ليل بحر شمس قهوة أصدقاء عائلة مدينة
سفر موسيقى جميل`),
		syllables: strings.Fields(`با تا ثم جا حا خا دا را زا سا شا صا طا عا غا فا قا كا لا ما نا ها وا يا ون ات ين`)},
}

// firstIdeograph begins the block that the rarer words of the language without syllables are taken from.
const firstIdeograph = 0x4e00

// vocabulary returns the words of a language, the most frequent first.
func (l language) vocabulary() []string {
	list := make([]string, 0, l.words)
	seen := map[string]bool{}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	for _, word := range l.common {
		add(word)
	}
	d := throw(kindWord, uint64(l.words))
	for n := 0; len(list) < l.words; n++ {
		if l.syllables == nil {
			add(string(rune(firstIdeograph + n)))
			continue
		}
		var b strings.Builder
		for range 2 + d.roll(3) {
			b.WriteString(pick(d, l.syllables))
		}
		add(b.String())
	}
	return list
}

// texts makes the texts of items.
type texts struct {
	languages []spoken
	byShare   []int // the language of each of 100 texts
}

type spoken struct {
	gap   string
	words []string
	ranks Zipf
}

func newTexts() *texts {
	t := &texts{}
	for i, l := range languages {
		words := l.vocabulary()
		t.languages = append(t.languages, spoken{l.gap, words, NewZipf(len(words))})
		for range l.share {
			t.byShare = append(t.byShare, i)
		}
	}
	return t
}

// emoji end some texts.
var emoji = []string{"☀️", "❤️", "😍", "🎉", "🌊", "🔥", "😂", "🙏", "✨", "🏖️"}

// appendText appends a text of 3 to 30 words, 13 on average as in real posts; nothing in it has to be escaped in JSON.
func (t *texts) appendText(out []byte, d *dice) []byte {
	l := t.languages[pick(d, t.byShare)]
	n := 3 + d.roll(11) + d.roll(11)
	for i := range n {
		if i > 0 {
			out = append(out, l.gap...)
		}
		out = append(out, l.words[l.ranks.draw(d)]...)
	}
	switch d.roll(6) {
	case 0:
		out = append(out, '!')
	case 1:
		out = append(append(out, ' '), pick(d, emoji)...)
	case 2:
		out = append(append(out, " #"...), pick(d, hashtags)...)
	default:
		out = append(out, '.')
	}
	return out
}

// word returns an English word of about the given rank: what people filter and search by.
func (t *texts) word(rank int) string {
	words := t.languages[0].words
	return words[min(rank, len(words)-1)]
}
