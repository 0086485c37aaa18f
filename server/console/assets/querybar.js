// The query bar validates the query while the user types. It marks the position of a problem with a caret, and offers completions (the
// ARIA combobox pattern).

import { get, Problem } from './api.js';
import { button, debounced, fill, h, icon, uniqueID } from './dom.js';
import { number } from './ui.js';

/**
 * @typedef {object} Hint a problem of the query
 * @property {'error' | 'warning'} severity
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
 */

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
    this.input = h('input', {
      type: 'text', value: options.value, placeholder: options.placeholder, role: 'combobox', autocomplete: 'off', autocapitalize: 'off',
      autocorrect: 'off', spellcheck: 'false', enterkeyhint: 'search', 'aria-label': options.label, 'aria-autocomplete': 'list',
      'aria-expanded': 'false', 'aria-controls': this.listID, 'aria-describedby': this.hintID,
      oninput: () => this.#typed(), onscroll: () => this.#align(), onblur: () => this.#close(),
      onkeydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
    });
    this.mirror = h('div', { class: 'mirror', 'aria-hidden': 'true' });
    this.list = h('ul', { class: 'completions', id: this.listID, role: 'listbox', 'aria-label': 'Completions', hidden: true });
    /** If the query is valid, the page shows its result here. */
    this.status = h('span', { class: 'result' });
    this.message = h('span', { class: 'message' });
    this.caret = h('span', { class: 'caret', 'aria-hidden': 'true', hidden: true });
    this.clear = button({ icon: 'close', text: 'Clear the query', only: true, kind: 'quiet', hidden: options.value === '', onclick: () => {
      this.set('');
      this.focus();
      this.#report(true);
    } });
    this.element = h('div', { class: 'querybar' },
      h('div', { class: 'box' }, icon('search'), h('div', { class: 'entry' }, this.mirror, this.input, this.caret), this.clear, this.list),
      h('div', { class: 'hint', id: this.hintID }, this.message, this.status));
    this.#later = debounced(120, () => void this.#suggest());
    if (options.value) void this.#suggest(true);
  }

  #later = debounced(0, () => {});
  /** @type {AbortController | null} */
  #request = null;
  /** @type {Hint[]} */
  #hints = [];

  get value() {
    return this.input.value.trim();
  }

  /** Whether the last validation found an error. */
  get invalid() {
    return this.#hints.some((hint) => hint.severity === 'error');
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
    this.show([]);
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
   * Shows problems.
   * @param {Hint[]} hints
   */
  show(hints) {
    this.#hints = hints;
    const worst = hints.find((hint) => hint.severity === 'error') ?? hints[0];
    this.element.classList.toggle('error', worst?.severity === 'error');
    this.element.classList.toggle('warning', worst?.severity === 'warning');
    if (worst?.severity === 'error') this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
    fill(this.message, worst && icon('warning'), worst && h('span', null, worst.message));
    const value = this.input.value;
    const start = Math.min(worst?.start ?? -1, value.length);
    const mark = h('mark', null, value.slice(start, Math.max(start + 1, worst?.end ?? start + 1)) || ' ');
    fill(this.mirror, start >= 0 && value.slice(0, start), start >= 0 && mark);
    this.caret.hidden = start < 0;
    this.#align();
  }

  /** Aligns the underline and the caret with the text. The text scrolls if it is longer than the bar. */
  #align() {
    this.mirror.scrollLeft = this.input.scrollLeft;
    const mark = this.mirror.querySelector('mark');
    if (!mark) return;
    const x = Math.max(0, Math.min(mark.offsetLeft - this.input.scrollLeft, this.input.clientWidth - 8));
    this.caret.style.transform = `translateX(${x}px)`;
  }

  #typed() {
    this.clear.hidden = this.input.value === '';
    this.show([]);
    this.#later();
  }

  /**
   * Requests the problems and completions of the query from the server.
   * @param {boolean} [quiet] whether to show no completions and not to report the query
   */
  async #suggest(quiet) {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const value = this.input.value;
    try {
      const { data } = await get('v2/content/suggest', { q: value, sort_by: this.o.order?.(), position: this.input.selectionStart ?? value.length }, request.signal);
      if (value !== this.input.value) return;
      this.show((data.problems ?? []).map((/** @type {any} */ p) => (p.in === 'sort_by' ? { severity: p.severity, message: `Order: ${p.message}` } : p)));
      this.o.read?.(value.trim(), data.clauses);
      if (!quiet) this.#open(data.completions ?? []);
    } catch (err) {
      if (request.signal.aborted) return;
      // The search itself also reports an invalid query.
      if (!(err instanceof Problem)) throw err;
    }
    if (!quiet && !this.invalid) this.#report(false);
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
    }, h('code', null, c.text), c.detail && h('span', { class: 'detail' }, c.detail),
    h('span', { class: 'kind' }, c.count !== undefined ? number(c.count) : c.kind === 'enum' ? 'value' : c.kind))));
    this.list.hidden = this.completions.length === 0;
    this.input.setAttribute('aria-expanded', String(!this.list.hidden));
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
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const open = !this.list.hidden;
    if (event.isComposing) return;
    if (event.key === 'ArrowDown' || (event.key === ' ' && event.ctrlKey)) {
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
      this.#later.cancel();
      this.#close();
      this.#report(true);
      this.validate();
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      this.#close();
    }
  }
}
