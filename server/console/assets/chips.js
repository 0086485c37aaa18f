// The filter bar of the wall. For some fields, it shows the most frequent values as buttons (chips) with their counts. A chip writes its
// clause into the query, and a query that has such a clause presses the chip. The server reads and writes the clauses, so that the query
// stays the only source of truth, and a clause that no chip can show stays in the query.

import { countItems, eachOf, get, send } from './api.js';
import { button, debounced, fill, h, labelled } from './dom.js';
import { number, openDialog, saveSetting, setting, states, toastError } from './ui.js';

/** @typedef {import('./clauses.js').Clause} Clause */

/** @typedef {{value: string, count?: number}} Value */

/** @typedef {{text: string, values?: string[], from?: string, to?: string}} Period a value, or a range, of a date */

/**
 * @typedef {object} Group
 * @property {string} field the canonical name
 * @property {string} label
 * @property {(value: string) => string} text
 * @property {string[]} [values] all values of the field, if they are few
 * @property {() => Period[]} [periods] for a date
 * @property {boolean} [rare] whether the bar shows the values only if the query has some
 */

const capital = (/** @type {string} */ value) => value.charAt(0).toUpperCase() + value.slice(1);
const regions = new Intl.DisplayNames('en', { type: 'region' });

/** @param {string} code */
function region(code) {
  try {
    return regions.of(code.toUpperCase()) ?? code;
  } catch {
    return code; // the item has a code that is not valid
  }
}

/** @type {Group[]} */
const groups = [
  { field: 'approval_status', label: 'Status', values: ['app', 'pen', 'rej'], text: (value) => states[value] ?? value },
  { field: 'content.social_platform', label: 'Platform', text: capital },
  { field: 'content.content_type', label: 'Type', values: ['image', 'video', 'text'], text: capital },
  { field: 'created_on', label: 'Added', text: (value) => value, periods },
  { field: 'hashtag.hashtag_text', label: 'Hashtag', text: (value) => `#${value}` },
  { field: 'tags', label: 'Tag', text: (value) => value.replace(/^marketer_tags:/, ''), rare: true },
  { field: 'content.author.username', label: 'Author', text: (value) => `@${value}`, rare: true },
  { field: 'campaign', label: 'Campaign', text: (value) => value, rare: true },
  { field: 'content.platform_data.location.country_code', label: 'Country', text: region, rare: true },
  { field: 'activate_units.id', label: 'Unit', text: (value) => units.get(value) ?? value, rare: true },
];

/** The number of values that the bar shows, and that the dialog of a group shows. */
const inBar = 4;
const inDialog = 50;

/** The names of the conversion units by ID. @type {Map<string, string>} */
const units = new Map();

/** Returns the periods that the bar offers. The days and months are in UTC, as in queries. */
function periods() {
  const now = new Date();
  const month = (/** @type {number} */ back) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back));
    return { text: first.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }), values: [first.toISOString().slice(0, 7)] };
  };
  return [{ text: 'Last 7 days', from: 'now-7d', to: '*' }, month(0), month(1), month(2)];
}

/** @param {string} a @param {string} b */
function same(a, b) {
  return a.toLowerCase() === b.toLowerCase();
}

export class Chips {
  /** @param {{changed: (q: string) => void, counts: (filter: string) => boolean}} options `counts` says whether the session may count values */
  constructor(options) {
    this.o = options;
    this.list = h('div', { class: 'facets' });
    const wide = matchMedia('(min-width: 900px)').matches;
    this.element = h('details', { class: 'chipbar', open: setting('chips') ? setting('chips') === 'open' : wide, ontoggle: () => {
      saveSetting('chips', this.element.open ? 'open' : 'closed');
      this.#count();
    } }, h('summary', null, 'Filter by'), this.list);
    this.#render();
  }

  q = '';
  filter = '';
  /** Whether a list was loaded. The counts must not slow down the first one. */
  #loaded = false;
  /** @type {Clause[]} */
  clauses = [];
  /** The query that the server read last. @type {{q: string, clauses: Clause[]}} */
  #read = { q: '', clauses: [] };
  /** The values with counts, by field. @type {Map<string, Value[]>} */
  #values = new Map();
  /** The query and filter for which the values were counted. */
  #counted = '';
  /** @type {AbortController | null} */
  #request = null;
  /** The change that was requested last. Each change begins with the query of the change before it. */
  #last = Promise.resolve();
  #later = debounced(200, () => void this.#load().finally(() => this.element.removeAttribute('aria-busy')));

  /**
   * Shows the query of a list that was just loaded. The clauses can follow.
   * @param {string} q
   * @param {string} filter
   */
  show(q, filter) {
    if (q !== this.q) this.clauses = this.#read.q === q ? this.#read.clauses : [];
    this.q = q;
    this.filter = filter;
    this.#loaded = true;
    this.#counted = '';
    this.#render();
    this.#count();
  }

  /**
   * Shows the clauses of a query, once it is the query of the list.
   * @param {string} q
   * @param {Clause[]} clauses
   */
  read(q, clauses) {
    this.#read = { q, clauses };
    if (q !== this.q) return;
    this.clauses = clauses;
    this.#render();
    this.#count();
  }

  /** Counts the values soon. Until then, the buttons can still move. */
  #count() {
    this.element.setAttribute('aria-busy', 'true');
    this.#later();
  }

  stop() {
    this.#later.cancel();
    this.#request?.abort();
  }

  /** @param {Group} group @returns {number} the index of the clause that the chips of the group show, or -1 */
  #index(group) {
    return this.clauses.findIndex((clause) => clause.field === group.field && clause.occur !== 'should');
  }

  /** @param {Group} group */
  #clause(group) {
    return this.clauses.at(this.#index(group) < 0 ? this.clauses.length : this.#index(group));
  }

  /**
   * Writes a clause into the query, or removes it.
   * @param {Group} group
   * @param {(clause: Clause | undefined) => {values?: string[], from?: string, to?: string, not?: boolean} | null} make
   */
  #write(group, make) {
    this.#last = this.#last.then(async () => {
      // A click can come before the clauses of a new query.
      if (this.q !== '' && this.#read.q !== this.q) this.read(this.q, (await get('v2/content/suggest', { q: this.q })).data.clauses);
      const at = this.#index(group);
      const made = make(this.#clause(group));
      const { data } = await get('v2/content/refine', {
        q: this.q, clause: at < 0 ? null : at,
        ...(made && { field: group.field, value: made.values, from: open(made.from), to: open(made.to), not: made.not ? 1 : null }),
      });
      this.q = data.q;
      this.read(data.q, data.clauses);
      this.o.changed(data.q);
    }).catch(toastError);
    return this.#last;
  }

  /** @param {Group} group @param {string} value */
  #toggle(group, value) {
    return this.#write(group, (clause) => {
      const before = clause?.values ?? [];
      const values = before.some((v) => same(v, value)) ? before.filter((v) => !same(v, value)) : [...before, value];
      return values.length > 0 ? { values, not: clause?.occur === 'must not' } : null;
    });
  }

  /** Replaces the rows that have changed. All other rows stay, so that no click on them gets lost. */
  #render() {
    const focused = this.list.querySelector(':focus')?.getAttribute('data-chip');
    const rows = [...groups.filter((group) => !group.rare || this.#clause(group)).map((group) => this.#row(group)),
      h('div', { class: 'facet', role: 'group', 'aria-label': 'More fields' }, groups.filter((group) => group.rare && !this.#clause(group)).map((group) =>
        h('button', { type: 'button', class: 'chip more', 'data-chip': `${group.field} more`, 'aria-haspopup': 'dialog', onclick: () => this.#choose(group) }, `${group.label}…`)))];
    const old = [...this.list.children];
    rows.forEach((row, i) => {
      if (!old[i]) this.list.append(row);
      else if (!old[i].isEqualNode(row)) old[i].replaceWith(row);
    });
    for (const row of old.slice(rows.length)) row.remove();
    if (focused && !this.list.contains(document.activeElement)) /** @type {HTMLElement | null} */ (this.list.querySelector(`[data-chip="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
  }

  /** @param {Group} group */
  #row(group) {
    const clause = this.#clause(group);
    const not = clause?.occur === 'must not';
    const pressed = clause?.values ?? [];
    /** @param {string} id @param {string} text @param {boolean} on @param {number | undefined} n @param {() => void} run */
    const chip = (id, text, on, n, run) => h('button', {
      type: 'button', class: ['chip', on && not && 'not'].filter(Boolean).join(' '), 'aria-pressed': String(on), 'data-chip': `${group.field} ${id}`, onclick: run,
    }, on && not && 'not ', h('bdi', null, text), n !== undefined && h('span', { class: 'count' }, ' ', number(n)));
    /** @type {HTMLElement[]} */
    let chips;
    if (group.periods) {
      const list = group.periods();
      const is = (/** @type {Period} */ p) => clause !== undefined && (p.values ? String(p.values) === String(clause.values) : p.from === clause.from && p.to === clause.to);
      const other = clause && !list.some(is);
      const written = clause && (clause.values ? clause.values.join(', ') : `${clause.from} to ${clause.to}`);
      const counts = this.#values.get(group.field) ?? [];
      chips = list.map((p) => chip(p.text, p.text, is(p), counts.find((v) => v.value === p.text)?.count, () => void this.#write(group, () => (is(p) ? null : { ...p, not }))));
      if (other) chips.unshift(chip('other', String(written), true, undefined, () => void this.#write(group, () => null)));
    } else {
      const counted = this.#values.get(group.field);
      const withCount = (/** @type {string} */ value) => ({ value, count: counted && (counted.find((v) => same(v.value, value))?.count ?? (group.values ? 0 : undefined)) });
      /** @type {Value[]} */
      const known = group.values ? group.values.map(withCount) : (counted ?? []).slice(0, inBar);
      const missing = pressed.filter((value) => !known.some((v) => same(v.value, value))).map(withCount);
      chips = [...missing, ...known].map(({ value, count: n }) => chip(value, group.text(value), pressed.some((v) => same(v, value)), n, () => void this.#toggle(group, value)));
    }
    return h('div', { class: 'facet', role: 'group', 'aria-label': group.label }, h('span', { class: 'label', 'aria-hidden': 'true' }, group.label), chips,
      h('button', { type: 'button', class: 'chip more', 'data-chip': `${group.field} more`, 'aria-haspopup': 'dialog', 'aria-label': `More choices for ${group.label}`, onclick: () => this.#choose(group) }, '…'));
  }

  /** Counts the values of the groups that the bar shows. */
  async #load() {
    const wanted = `${this.filter} ${this.q}`;
    if (!this.#loaded || !this.element.open || !this.o.counts(this.filter) || wanted === this.#counted) return;
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const failed = await eachOf(groups.filter((group) => !group.rare || this.#clause(group)), async (group) => {
      const values = group.periods ? await this.#countPeriods(group, request.signal) : await this.#facets(group, inBar + 1, '', request.signal);
      if (group.field === 'activate_units.id') await loadUnits();
      if (request.signal.aborted) return;
      this.#values.set(group.field, values);
      this.#render();
    });
    // Without counts, the chips still work. The list itself reports a query that is not valid.
    if (!request.signal.aborted && failed.length === 0) this.#counted = wanted;
  }

  /**
   * Returns the most frequent values of a field among the items that the query finds without the clause of the group.
   * @param {Group} group
   * @param {number} size
   * @param {string} prefix
   * @param {AbortSignal} [signal]
   * @returns {Promise<Value[]>}
   */
  async #facets(group, size, prefix, signal) {
    const q = await this.#rest(group, signal);
    return (await send('GET', 'api/v2/content/facets', { query: { field: group.field, q: q || '*:*', filter: this.filter, size, prefix }, signal, patient: true })).data.values;
  }

  /** @param {Group} group @param {AbortSignal} signal @returns {Promise<Value[]>} */
  async #countPeriods(group, signal) {
    const rest = await this.#rest(group, signal);
    return Promise.all((group.periods?.() ?? []).map(async ({ text, values, from, to }) => {
      const clause = `${group.field}:${values ? values[0] : `[${from} TO ${to}]`}`;
      return { value: text, count: await countItems(rest ? `(${rest}) AND ${clause}` : clause, { filter: this.filter, signal }) };
    }));
  }

  /**
   * Returns the query without the clause of a group.
   * @param {Group} group
   * @param {AbortSignal} [signal]
   */
  async #rest(group, signal) {
    const at = this.#index(group);
    return at < 0 ? this.q : (await get('v2/content/refine', { q: this.q, clause: at }, signal)).data.q;
  }

  /**
   * Opens the dialog with more values of a group.
   * @param {Group} group
   */
  #choose(group) {
    const list = h('div', { class: 'choices' });
    const exclude = h('input', { type: 'checkbox', checked: this.#clause(group)?.occur === 'must not', onchange: () => void this.#write(group, (clause) => (
      clause ? { values: clause.values, from: clause.from, to: clause.to, not: exclude.checked } : null)) });
    const search = h('input', { type: 'search', autofocus: true, placeholder: 'Begins with', 'aria-label': `Find a value of ${group.label}`, oninput: debounced(150, () => void load()) });
    const from = h('input', { type: 'date', value: day(this.#clause(group)?.from) });
    const to = h('input', { type: 'date', value: day(this.#clause(group)?.to) });
    const apply = () => this.#write(group, () => (from.value || to.value ? { from: from.value || '*', to: to.value || '*', not: exclude.checked } : null));
    const load = async () => {
      try {
        if (group.field === 'activate_units.id') await loadUnits();
        const values = this.o.counts(this.filter) ? await this.#facets(group, inDialog, search.value.trim()) : (group.values ?? []).map((value) => ({ value, count: undefined }));
        const pressed = this.#clause(group)?.values ?? [];
        const chosen = search.value ? [] : pressed.filter((value) => !values.some((v) => same(v.value, value))).map((value) => ({ value, count: undefined }));
        fill(list, [...chosen, ...values].map(({ value, count: n }) => h('label', { class: 'check' },
          h('input', { type: 'checkbox', checked: pressed.some((v) => same(v, value)), onchange: () => void this.#toggle(group, value) }),
          h('bdi', null, group.text(value)), n !== undefined && h('span', { class: 'count' }, number(n)))),
        values.length === 0 && h('p', { class: 'muted' }, 'No item of this list has such a value.'));
      } catch (err) {
        toastError(err);
      }
    };
    const dialog = openDialog(group.label, { class: 'choose' }, group.periods
      ? h('form', { class: 'form', onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); void apply().then(() => dialog.close()); } },
        labelled('From', from), labelled('To', to), h('label', { class: 'check' }, exclude, 'Exclude these items'), h('div', { class: 'row end' }, button({ text: 'Apply', kind: 'primary', type: 'submit' })))
      : h('div', { class: 'form' }, search, list, h('label', { class: 'check' }, exclude, 'Exclude the items with these values'),
        h('div', { class: 'row end' }, button({ text: 'Done', kind: 'primary', onclick: () => dialog.close() }))));
    if (!group.periods) void load();
  }
}

/** @param {string | undefined} bound returns the bound as a parameter, which is missing for an open range */
function open(bound) {
  return bound === '*' ? undefined : bound;
}

/** @param {string | undefined} bound returns the bound as the value of a date input */
function day(bound) {
  return /^\d{4}-\d\d-\d\d$/.test(bound ?? '') ? bound : '';
}

/** Loads the names of the conversion units. */
async function loadUnits() {
  if (units.size > 0) return;
  const { data } = await get('v1/activate_units/');
  for (const unit of data._embedded?.['activate_unit:item'] ?? []) units.set(String(unit.id), String(unit.name ?? unit.id));
}
