// The query bar validates the query while the user types. It highlights the clauses, marks the positions of problems, and offers completions.
// It is a text box with a list of suggestions and not a combobox, because a combobox cannot have several lines.

import { get, Problem } from './api.js';
import { button, debounced, fill, h, icon, uniqueID } from './dom.js';
import { announce, count, number, saveSetting, setting } from './ui.js';

/**
 * @typedef {object} Hint a problem of the query
 * @property {'error' | 'warning' | 'hint'} severity
 * @property {string} message
 * @property {number} [start] in UTF-16 code units, like all positions in this file
 * @property {number} [end]
 */

/** @typedef {{text: string, start: number, end: number, kind: string, detail?: string, count?: number}} Completion */

/**
 * @typedef {object} QueryBarOptions
 * @property {string} value
 * @property {string} label
 * @property {string} [placeholder]
 * @property {() => string} [order] the sort order, which is validated with the query
 * @property {(value: string, submitted: boolean) => void} changed is called with a new query when the user submits it. If the query has
 *   no error, it is also called shortly after the user stops typing.
 * @property {(value: string, clauses: import('./clauses.js').Clause[]) => void} [read] is called with the clauses of a query that the server
 *   has read
 * @property {(invalid: boolean) => void} [judged] is called when the bar shows the problems of the query, with whether there is an error.
 *   That is when the user pauses, submits the query or leaves the bar, so an unfinished clause does not count as an error.
 */

/** The time without a key after which the bar shows problems, in milliseconds. */
const pause = 700;

/** The number of recent queries that the browser stores. */
const recentQueries = 5;

/** Returns the recent queries of this browser, the latest first. @returns {string[]} */
function recent() {
  try {
    const stored = JSON.parse(setting('queries'));
    return Array.isArray(stored) ? stored.filter((q) => typeof q === 'string').slice(0, recentQueries) : [];
  } catch {
    return [];
  }
}

export class QueryBar {
  /** @param {QueryBarOptions} options */
  constructor(options) {
    this.o = options;
    this.listID = uniqueID();
    this.hintID = uniqueID();
    /** @type {Completion[]} */
    this.completions = [];
    this.selected = -1;
    this.reported = options.value;
    this.input = h('textarea', {
      rows: '1', value: options.value, placeholder: options.placeholder, autocomplete: 'off', autocapitalize: 'off', autocorrect: 'off',
      spellcheck: 'false', enterkeyhint: 'search', 'aria-label': options.label, 'aria-autocomplete': 'list', 'aria-haspopup': 'listbox',
      'aria-controls': this.listID, 'aria-describedby': this.hintID,
      oninput: () => this.#typed(), onblur: () => this.#left(), onfocus: () => this.#begin(), onclick: () => this.#begin(),
      onkeydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
    });
    /** Has the text of the query, with its clauses and marks. The text is invisible, and gives the bar its height. */
    this.mirror = h('div', { class: 'mirror', 'aria-hidden': 'true' });
    this.list = h('ul', { class: 'completions', id: this.listID, role: 'listbox', 'aria-label': 'Completions', hidden: true });
    /** If the query is valid, the page shows its result here. */
    this.status = h('span', { class: 'result' });
    this.message = h('div', { class: 'message' });
    this.proposals = h('div', { class: 'proposals' });
    this.clear = button({ icon: 'close', text: 'Clear the query', only: true, kind: 'quiet', hidden: options.value === '', onclick: () => {
      this.set('');
      this.focus();
      this.#report(true);
    } });
    this.element = h('div', { class: 'querybar' },
      h('div', { class: 'box' }, icon('search'),
        h('div', { class: 'entry' }, h('div', { class: 'lines' }, this.mirror, this.input)), this.clear, this.list),
      h('div', { class: 'below', id: this.hintID }, h('div', null, this.message, this.proposals), this.status));
    this.#draw();
    if (options.value) void this.#suggest(true);
  }

  #later = debounced(120, () => void this.#suggest());
  #settled = debounced(pause, () => this.#judge());
  /** Whether the user has typed and not paused since. */
  #typing = false;
  /** @type {AbortController | null} */
  #request = null;
  /** The problems of the query. @type {Hint[]} */
  #found = [];
  /** The problems that the bar shows. @type {Hint[]} */
  #shown = [];
  /** @type {import('./chips.js').Clause[]} */
  #clauses = [];
  /** The text to which the positions of the clauses refer. */
  #drawn = '';

  get value() {
    return this.input.value.trim();
  }

  /** Whether the last validation found an error. */
  get invalid() {
    return this.#found.some((hint) => hint.severity === 'error');
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  /**
   * Sets the query without reporting it as a change.
   * @param {string} value
   */
  set(value) {
    if (value === this.input.value) return;
    this.input.value = value;
    this.reported = value;
    this.clear.hidden = value === '';
    this.#close();
    this.#clauses = [];
    this.#found = [];
    fill(this.proposals);
    this.#judge();
    if (value) void this.#suggest(true);
  }

  /** Validates the query again after the order has changed. */
  validate() {
    void this.#suggest(true);
  }

  /**
   * Shows the problem of a request with this query. It returns false if the problem is not about the query.
   * @param {unknown} err
   */
  showProblem(err) {
    if (!(err instanceof Problem) || err.status !== 400 || !['q', 'additional_query', 'from_q', 'sort_by', 'order'].includes(err.parameter ?? '')) return false;
    if (this.invalid) return true;
    const about = err.parameter === 'sort_by' || err.parameter === 'order' ? 'Order: ' : '';
    // The position in a problem counts characters and not UTF-16 code units.
    const at = about || err.position === undefined ? undefined : [...this.input.value].slice(0, err.position).join('').length;
    this.show([{ severity: 'error', message: about + err.message, start: at, end: at === undefined ? undefined : at + 1 }]);
    return true;
  }

  /**
   * Shows problems that a response reports. They have no positions, so the bar keeps those that it already knows.
   * @param {Hint[]} hints
   */
  show(hints) {
    const news = hints.filter((hint) => !this.#found.some((known) => known.message === hint.message));
    if (news.length === 0) return;
    this.#found = [...this.#found.filter((hint) => hint.severity !== 'error'), ...news];
    this.#judge();
  }

  /** Shows the problems of the query. */
  #judge() {
    this.#typing = false;
    this.#settled.cancel();
    this.#display(this.#found);
    this.o.judged?.(this.invalid);
  }

  /** @param {Hint[]} hints */
  #display(hints) {
    this.#shown = ['error', 'warning', 'hint'].flatMap((severity) => hints.filter((hint) => hint.severity === severity));
    const worst = this.#shown[0]?.severity;
    this.element.classList.toggle('error', worst === 'error');
    this.element.classList.toggle('warning', worst === 'warning');
    if (worst === 'error') this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
    fill(this.message, this.#shown.map((hint) => h('div', { class: hint.severity }, icon('warning'), h('span', null, hint.message))));
    this.#draw();
  }

  /** Draws the clauses and the problems behind the text, and the caret below the worst problem. */
  #draw() {
    const text = `${this.input.value} `; // a problem can be at the end of the query
    const marks = this.#shown.flatMap(({ severity, start, end }) => {
      if (start === undefined) return [];
      const from = Math.min(start, text.length - 1);
      return [{ severity, start: from, end: Math.min(Math.max(from + 1, end ?? 0), text.length) }];
    });
    const edges = [...new Set([0, text.length, ...[...this.#clauses, ...marks].flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
    fill(this.mirror, edges.slice(1).map((end, i) => {
      const inside = (/** @type {{start: number, end: number}} */ part) => part.start <= edges[i] && end <= part.end;
      const clause = this.#clauses.find(inside);
      const mark = marks.find(inside);
      return h(mark ? 'mark' : 'span', { class: [clause && `segment ${clause.occur.replace(' ', '-')}`, mark?.severity].filter(Boolean).join(' ') || null },
        marks[0]?.start === edges[i] && h('span', { class: 'caret' }), text.slice(edges[i], end));
    }));
    this.#drawn = this.input.value;
  }

  #typed() {
    if (/[\r\n]/.test(this.input.value)) { // pasted text
      const at = this.input.selectionStart;
      this.input.value = this.input.value.replace(/[\r\n]/g, ' ');
      this.input.setSelectionRange(at, at);
    }
    const value = this.input.value;
    this.clear.hidden = value === '';
    // The clauses before the change stay highlighted until the server sends the new ones.
    let same = 0;
    while (same < value.length && value[same] === this.#drawn[same]) same++;
    this.#clauses = this.#clauses.filter((clause) => clause.end <= same);
    this.#typing = true;
    this.#found = [];
    fill(this.proposals);
    this.#display([]);
    this.#later();
    this.#settled();
  }

  /** Offers completions for an empty query. */
  #begin() {
    if (this.input.value === '' && this.list.hidden) void this.#suggest();
  }

  #left() {
    this.#close();
    if (this.#typing) this.#judge();
  }

  /** Reports the query, as the user has finished it. */
  #submit() {
    this.#later.cancel();
    this.#typing = false;
    this.#close();
    this.#report(true);
    void this.#suggest(true, true);
  }

  /**
   * Requests the problems and completions of the query from the server.
   * @param {boolean} [quiet] whether to show no completions and not to report the query
   * @param {boolean} [submitted] whether to propose what the words of the query can mean, and to remember the query
   */
  async #suggest(quiet, submitted) {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const value = this.input.value;
    try {
      const position = quiet ? value.length : this.input.selectionStart ?? value.length;
      const { data } = await get('v2/content/suggest', { q: value, sort_by: this.o.order?.(), position }, request.signal);
      if (value !== this.input.value) return;
      this.#found = (data.problems ?? []).map((/** @type {any} */ p) => (p.in === 'sort_by' ? { severity: p.severity, message: `Order: ${p.message}` } : p));
      this.#clauses = data.clauses ?? [];
      this.o.read?.(value.trim(), data.clauses);
      if (!this.#typing) this.#judge();
      else this.#draw();
      if (!quiet) this.#open([...value === '' ? recent().map((text) => ({ text, start: 0, end: 0, kind: 'recent' })) : [], ...data.completions ?? []]);
      if (submitted && !this.invalid) this.#finished(data.completions ?? []);
    } catch (err) {
      if (request.signal.aborted) return;
      // The search itself also reports an invalid query.
      if (!(err instanceof Problem)) throw err;
    }
    if (!quiet && !this.invalid) this.#report(false);
  }

  /**
   * Remembers a submitted query, and proposes what its words can mean.
   * @param {Completion[]} completions
   */
  #finished(completions) {
    if (this.value !== '') saveSetting('queries', JSON.stringify([this.value, ...recent().filter((q) => q !== this.value)].slice(0, recentQueries)));
    const clauses = completions.filter((c) => c.kind === 'clause' && c.count !== 0).slice(0, 3);
    fill(this.proposals, clauses.length > 0 && h('span', null, 'Do you mean'), clauses.map((c) => button({
      text: c.count === undefined ? c.detail ?? c.text : `${c.detail}: ${count(c.count, 'item')}`, kind: 'quiet', title: c.text, onclick: () => {
        this.input.focus();
        this.#accept(c);
      },
    })));
  }

  /** @param {boolean} submitted */
  #report(submitted) {
    if (!submitted && this.reported === this.value) return;
    this.reported = this.value;
    this.o.changed(this.value, submitted);
  }

  /** @param {Completion[]} completions */
  #open(completions) {
    this.completions = document.activeElement === this.input ? completions.slice(0, 12) : [];
    this.selected = -1;
    fill(this.list, this.completions.map((c, i) => h('li', {
      role: 'option', id: `${this.listID}-${i}`, 'aria-selected': 'false', class: c.kind,
      onmousedown: (/** @type {Event} */ e) => {
        e.preventDefault();
        this.#accept(c);
      },
    }, c.kind === 'clause' ? [h('span', { class: 'about' }, c.detail), h('code', { class: 'detail' }, c.text)] : [h('code', null, c.text), c.detail && h('span', { class: 'detail' }, c.detail)],
    h('span', { class: 'kind' }, c.count !== undefined ? number(c.count) : c.kind === 'enum' ? 'value' : c.kind))));
    this.list.hidden = this.completions.length === 0;
    if (!this.list.hidden) announce(count(this.completions.length, 'completion'));
    this.input.removeAttribute('aria-activedescendant');
  }

  #close() {
    this.#open([]);
  }

  /** @param {number} index */
  #choose(index) {
    this.selected = (index + this.completions.length) % this.completions.length;
    [...this.list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === this.selected)));
    this.list.children[this.selected].scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', `${this.listID}-${this.selected}`);
  }

  /** @param {Completion} c */
  #accept(c) {
    const value = this.input.value;
    this.input.value = value.slice(0, c.start) + c.text + value.slice(c.end);
    const at = c.start + c.text.length;
    this.input.setSelectionRange(at, at);
    this.#close();
    this.#typed();
    if (c.kind === 'clause' || c.kind === 'recent') this.#submit(); // the query is complete
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const open = !this.list.hidden;
    if (event.isComposing) return;
    const moves = event.key === 'ArrowDown' && !event.altKey && !open && this.mirror.offsetHeight > 30; // to another line of the query
    if ((event.key === 'ArrowDown' && !moves) || (event.key === ' ' && event.ctrlKey)) {
      event.preventDefault();
      if (open) this.#choose(this.selected + 1);
      else void this.#suggest();
    } else if (event.key === 'ArrowUp' && open) {
      event.preventDefault();
      this.#choose(this.selected < 0 ? this.completions.length - 1 : this.selected - 1);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && open && this.selected >= 0) {
      event.preventDefault();
      this.#accept(this.completions[this.selected]);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      this.#submit();
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      this.#close();
    }
  }
}
