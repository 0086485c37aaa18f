package browser

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var seed = flag.Uint64("seed", 0, "seed of the random walk (0: a random seed)")

// The random walk.
const (
	walkItems = 120
	walkKeys  = 2000 // of both moderators together
)

// walkers contains the keys of the walk. A key that is listed twice is pressed twice as often.
var walkers = []string{
	"a", "a", "a", "a", "a", "a", "r", "r", "r", "r", "r", "p", "p", "f", "z", "z", "z", "x", "x", "x", "j", "j", "j", "k", "k",
	"shift+" + kb.ArrowRight, "shift+" + kb.ArrowLeft, "shift+" + kb.ArrowDown, kb.ArrowDown, kb.ArrowUp, kb.Home, kb.End, kb.PageDown,
	kb.Escape, kb.Enter, kb.Enter,
}

// observer is a script that records what the user sees when a key reaches the page, and each time that a decision fails.
const observer = `(() => {
	const journal = window.journal = { keys: [], failures: {} };
	const tiles = () => [...document.querySelectorAll('[role=option]')].sort((a, b) => a.dataset.index - b.dataset.index);
	const id = (e) => Number(e.dataset.index);
	const state = (e) => ({ index: id(e), status: ['pen', 'app', 'rej'].find((s) => e.classList.contains(s)), featured: !!e.querySelector('.star') });
	const chosen = () => {
		const selected = tiles().filter((e) => e.ariaSelected === 'true');
		return (selected.length > 0 ? selected : tiles().filter((e) => e.tabIndex === 0)).map(state);
	};
	addEventListener('keydown', (event) => {
		journal.keys.push({
			key: event.key, targets: chosen(), dialog: !!document.querySelector('dialog[open]'),
			undo: !document.querySelector('.decisions [aria-keyshortcuts=z]').disabled,
		});
	}, true);
	addEventListener('keydown', () => {
		const entry = journal.keys.at(-1);
		entry.asks = !entry.dialog && !!document.querySelector('dialog[open]');
		entry.message = document.querySelector('.toast span')?.textContent ?? '';
		const text = document.querySelector('.progress').textContent;
		const done = tiles().filter((e) => !e.classList.contains('pen')).length;
		entry.progress = done === 0 || text.includes(' · ' + done + ' decided · ' + (tiles().length - done) + ' left') ? '' : text + ', but ' + done + ' items have a decision';
	});
	const failed = {};
	new MutationObserver((changes) => {
		for (const { addedNodes } of changes) {
			for (const e of addedNodes) {
				const fails = e.classList.contains('failed');
				if (fails && !failed[id(e)]) journal.failures[id(e)] = (journal.failures[id(e)] ?? 0) + 1;
				failed[id(e)] = fails;
			}
		}
	}).observe(document.querySelector('.strips [role=listbox]'), { childList: true });
	return true;
})()`

// pressed is a key in the journal of the observer.
type pressed struct {
	Key string
	// Targets contains the items to which a decision applies, as the user saw them when they pressed the key.
	Targets []struct {
		Index    int
		Status   string
		Featured bool
	}
	// Dialog is whether a confirmation was open, Asks whether the key has opened one, and Undo whether there was something to undo.
	Dialog, Asks, Undo bool
	// Message is the message after the key, and Progress describes a wrong number of decided items.
	Message, Progress string
}

// intent is what a moderator wants to change in one item: a member of the item from the value that they saw to another value.
type intent struct {
	member   string
	saw, set any
	// undoes is set if the intent is the undo of another one.
	undoes *intent
	index  int
	saved  bool
}

// undoneMessage matches the message of an undo.
var undoneMessage = regexp.MustCompile(`^Undone: (.*), (?:item (\d+) by|\d[\d,]* items from item (\d+) on)`)

// intents derives what a moderator wanted to change from the keys that they pressed, in order.
func intents(t *testing.T, keys []pressed) []*intent {
	t.Helper()
	type action struct {
		text  string
		steps []*intent
	}
	var all []*intent
	var history []action
	decide := func(p pressed, key string) {
		a := action{}
		for _, item := range p.Targets {
			var i *intent
			if key == "f" {
				featured := !p.Targets[0].Featured
				a.text = map[bool]string{true: "featured", false: "no longer featured"}[featured]
				i = &intent{member: "featured", saw: item.Featured, set: featured, index: item.Index}
			} else {
				a.text = map[string]string{"a": "approved", "r": "rejected", "p": "set to pending"}[key]
				i = &intent{member: "approval_status", saw: item.Status, set: map[string]string{"a": "app", "r": "rej", "p": "pen"}[key], index: item.Index}
			}
			if i.saw != i.set {
				a.steps = append(a.steps, i)
			}
		}
		all = append(all, a.steps...)
		if len(a.steps) > 0 {
			history = append(history, a)
		}
	}
	var open *pressed // the key that has opened the confirmation
	for n, p := range keys {
		if p.Progress != "" {
			t.Errorf("after key %d, %s, the progress is %s", n, p.Key, p.Progress)
		}
		switch {
		case p.Dialog:
			if p.Key == "Enter" && open != nil {
				decide(*open, open.Key)
			}
			if p.Key == "Enter" || p.Key == "Escape" {
				open = nil
			}
		case p.Asks:
			open = &keys[n]
		case strings.Contains("arpf", p.Key):
			for _, item := range p.Targets {
				if set := map[string]string{"a": "app", "r": "rej", "p": "pen"}[p.Key]; set != "" && item.Status != "pen" && item.Status != set {
					t.Errorf("key %d, %s, replaced the decision %s on item %d without a confirmation", n, p.Key, item.Status, item.Index)
				}
			}
			decide(p, p.Key)
		case p.Key == "z" && p.Undo:
			m := undoneMessage.FindStringSubmatch(p.Message)
			if m == nil {
				t.Errorf("the message of undo is %q", p.Message)
				continue
			}
			id, _ := strconv.Atoi(m[2] + m[3])
			// The console forgets a decision that has failed for all its items.
			at := len(history) - 1
			for at >= 0 && (history[at].text != m[1] || !slices.ContainsFunc(history[at].steps, func(i *intent) bool { return firstID+i.index == id })) {
				at--
			}
			if at < 0 {
				t.Errorf("key %d undid %q, which the moderator has not decided", n, p.Message)
				continue
			}
			for _, i := range history[at].steps {
				all = append(all, &intent{member: i.member, saw: i.set, set: i.saw, undoes: i, index: i.index})
			}
			history = history[:at]
		}
	}
	return all
}

// TestRandomWalk lets two moderators press random keys at the same time. It derives what they wanted to change from the keys, and compares
// this with what the server has changed:
//
//   - The server makes only changes that a moderator wanted, in the order in which they wanted them.
//   - A change replaces only the value that the moderator saw.
//   - The server makes every change that a moderator wanted, unless the console showed the moderator that it failed, and another user has
//     changed the item.
//   - At the end, the items are as these changes leave them.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	browserPath(t)
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("to repeat the keys of this walk: -seed %d", *seed)
	s := startServer(t)
	s.queue(t, walkItems)
	b := startBrowser(t, nil)
	log := &writeLog{}
	tabs := make([]*tab, 2)
	relays := make([]*relay, len(tabs))
	for n := range tabs {
		var mutex sync.Mutex
		random := rand.New(rand.NewPCG(*seed, uint64(100+n)))
		relays[n] = &relay{log: log, latency: func() time.Duration {
			mutex.Lock()
			defer mutex.Unlock()
			return time.Duration(random.IntN(120)) * time.Millisecond
		}}
		ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
		t.Cleanup(stop)
		if err := chromedp.Do(ctx); err != nil {
			t.Fatal(err)
		}
		tabs[n] = (&chromium{ctx, startRelay(t, s, relays[n])}).logIn(t).tab(t, 1280, 5000, "light") // all tiles are in the document
		tabs[n].allowed = append(tabs[n].allowed, "412")                                             // the browser logs each conflict
		tabs[n].open("moderation")
		tabs[n].wait(fmt.Sprintf(`document.querySelectorAll('[role=option]').length === %d`, walkItems))
		eval[bool](tabs[n], observer)
	}
	var walks sync.WaitGroup
	for n, tab := range tabs {
		random := rand.New(rand.NewPCG(*seed, uint64(n)))
		walks.Go(func() {
			for range walkKeys / len(tabs) {
				key := walkers[random.IntN(len(walkers))]
				if arrow, ok := strings.CutPrefix(key, "shift+"); ok {
					tab.withShift(arrow)
				} else {
					tab.keys(key)
				}
			}
		})
	}
	walks.Wait()
	if t.Failed() {
		return
	}

	wanted := make([][]*intent, len(tabs)) // by moderator
	failures := make([]map[string]int, len(tabs))
	for n, tab := range tabs {
		tab.keys(kb.Escape)
		tab.saved()
		journal := eval[struct {
			Keys     []pressed
			Failures map[string]int
		}](tab, `window.journal`)
		wanted[n], failures[n] = intents(t, journal.Keys), journal.Failures
	}
	state := map[int]map[string]any{}
	last := map[int]int{}       // the moderator who has changed the item last
	wrote := map[[2]int]bool{}  // by moderator and item
	reached := map[[2]int]int{} // the number of intents that precede the next one, by moderator and item
	for i := range walkItems {
		state[i] = map[string]any{"approval_status": "pen", "featured": false}
	}
	for _, w := range log.writes {
		n, i := slices.Index(relays, w.by), w.id-firstID
		for member, value := range w.set {
			next := reached[[2]int{n, i}]
			at := next + slices.IndexFunc(wanted[n][next:], func(x *intent) bool {
				return x.index == i && x.member == member && x.set == value && x.saw == state[i][member]
			})
			if at < next {
				t.Errorf("moderator %d changed %s of item %d from %v to %v without wanting it", n, member, i, state[i][member], value)
				continue
			}
			wanted[n][at].saved = true
			reached[[2]int{n, i}] = at + 1
		}
		maps.Copy(state[i], w.set)
		last[i] = n
		wrote[[2]int{n, i}] = true
	}
	total, lost := 0, 0
	for n := range tabs {
		for _, x := range wanted[n] {
			total++
			if x.saved {
				continue
			}
			lost++
			if failures[n][strconv.Itoa(x.index)] == 0 {
				t.Errorf("moderator %d wanted to change %s of item %d from %v to %v. The item did not change, and the console did not say so", n, x.member, x.index, x.saw, x.set)
			}
		}
		for index, count := range failures[n] {
			i, _ := strconv.Atoi(index)
			if !wrote[[2]int{1 - n, i}] {
				t.Errorf("the console showed moderator %d that %d decisions on item %d failed, but only this moderator has changed the item", n, count, i)
			}
		}
	}
	for i, want := range state {
		got := s.item(t, firstID+i)
		for member, value := range want {
			if got[member] != value {
				t.Errorf("item %d has %s %v, want %v", i, member, got[member], value)
			}
		}
		if n, changed := last[i]; changed {
			if shown := eval[string](tabs[n], fmt.Sprintf(`document.querySelector('[role=option][data-index="%d"]').className`, i)); !strings.Contains(shown, fmt.Sprint(want["approval_status"])) {
				t.Errorf("the tile of item %d has the classes %q, want %v", i, shown, want["approval_status"])
			}
		}
	}
	t.Logf("the moderators wanted %d changes, and %d of them failed because of the other moderator", total, lost)
}
