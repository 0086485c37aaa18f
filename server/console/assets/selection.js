// Decisions on the items of the wall: on a selection, or on the item in the dialog. They are the decisions of the moderation page.

import { may } from './api.js';
import { shown } from './decisions.js';
import { decisionsOf, report } from './desk.js';
import { button, fill, h } from './dom.js';
import { authorOf, tagText } from './item.js';
import { reasonRequired } from './rejected.js';
import { announce, count, number, toast, toastError } from './ui.js';

/** @typedef {import('./item.js').Item} Item */

export class Selection {
  /**
   * @param {object} options
   * @param {import('./api.js').Session} options.session
   * @param {() => Item[]} options.items the loaded items of the list
   * @param {() => string} options.query the query of the list
   * @param {(id: number) => void} options.changed is called when an item, or whether it is selected, has changed
   * @param {() => void} options.toggled is called when the user begins or ends to select
   */
  constructor(options) {
    this.o = options;
    this.decisions = decisionsOf(options.session);
    this.moderates = may(options.session, 'Moderate');
    this.tags = may(options.session, 'Tag');
    this.switch = button({ text: 'Select', 'aria-pressed': 'false', hidden: !may(options.session), onclick: () => this.#turn(!this.on) });
    this.number = h('strong', { role: 'status' });
    this.undoButton = button({ icon: 'undo', text: 'Undo', onclick: () => this.undo() });
    this.bar = h('div', { class: 'selectionbar', role: 'group', 'aria-label': 'Selection', hidden: true },
      this.number,
      button({ text: 'All loaded', onclick: () => this.#choose(options.items().map(({ id }) => Number(id))) }),
      button({ text: 'Clear', kind: 'quiet', onclick: () => this.#choose([]) }),
      h('span', { class: 'spacer' }), this.#actions(() => this.selected()),
      button({ text: 'Export…', title: 'Export the selected items as the manifest of a Tag or a conversion unit', onclick: () => import('./manifest.js').then(({ openExport }) => openExport({ property: options.session.property, ids: [...this.ids], query: options.query() }), toastError) }),
      this.undoButton);
  }

  /** Whether a click on a tile selects it. */
  on = false;
  /** @type {Set<number>} */
  ids = new Set();
  /** The end of the last click, at which a range begins. */
  #anchor = -1;
  /** The value of Decisions.time when the list of the items was requested. */
  #since = 0;

  /** Begins to follow the decisions. */
  start() {
    this.decisions.changed = ({ id }) => {
      this.#update();
      this.o.changed(id);
    };
    this.decisions.failed = report;
    this.#update();
  }

  stop() {
    this.decisions.changed = () => {};
  }

  /**
   * Begins with the items of another list, and selects none of them.
   * @param {number} since the value of Decisions.time when the list was requested
   */
  listed(since) {
    this.#since = since;
    this.#choose([]);
  }

  /** @param {Item} item returns the item with all decisions */
  shown(item) {
    return shown(this.#entry(item));
  }

  /** Returns the selected items. */
  selected() {
    return this.o.items().filter(({ id }) => this.ids.has(Number(id)));
  }

  /**
   * Selects or deselects an item, or a range that ends at it.
   * @param {number} index
   * @param {boolean} range
   */
  toggle(index, range) {
    const ids = this.o.items().map(({ id }) => Number(id));
    if (range && this.#anchor >= 0) this.#choose([...this.ids, ...ids.slice(Math.min(this.#anchor, index), Math.max(this.#anchor, index) + 1)]);
    else this.#choose(this.ids.has(ids[index]) ? [...this.ids].filter((id) => id !== ids[index]) : [...this.ids, ids[index]]);
    this.#anchor = index;
  }

  /**
   * Returns the buttons that decide on one item.
   * @param {() => Item} item
   */
  actionsFor(item) {
    return (this.moderates || this.tags) && h('div', { class: 'row itemactions', role: 'group', 'aria-label': 'Decisions' }, this.#actions(() => [item()]));
  }

  /** @param {Item} item @param {{namespace: string, key: string}} tag */
  untag(item, { namespace, key }) {
    this.#decide(`Removed the tag ${tagText({ namespace, key })}`, { tag: { namespace, key }, removes: true }, [item]);
  }

  undo() {
    const action = this.decisions.undo();
    if (action) toast(`Undone: ${action.text.toLowerCase()}, ${count(action.steps.length, 'item')}`);
  }

  /** @param {() => Item[]} items */
  #actions(items) {
    const decide = (/** @type {string} */ text, /** @type {import('./decisions.js').Edit} */ edit) => this.#decide(text, edit, items());
    const reject = () => {
      const list = items();
      const values = { approval_status: 'rej' };
      if (!reasonRequired || list.length === 0) this.#decide('Rejected', { values }, list);
      else import('./reason.js').then(({ askReason }) => askReason(`Reject ${count(list.length, 'item')}`, { chosen: (reason) => this.#decide('Rejected', { values, reason }, list) }), toastError);
    };
    const tag = () => import('./tagging.js').then(({ chooseTag }) => {
      chooseTag(`Tag ${count(items().length, 'item')}`, { chosen: (set) => decide(`Tagged ${tagText(set)}`, { tag: set }) });
    }, toastError);
    const untag = () => import('./tagging.js').then(({ chooseTagOf }) => {
      chooseTagOf(`Remove a tag from ${count(items().length, 'item')}`, items().map(({ id }) => Number(id)), (set) => decide(`Removed the tag ${tagText(set)}`, { tag: set, removes: true }));
    }, toastError);
    return [
      this.moderates && button({ icon: 'moderation', text: 'Approve', onclick: () => decide('Approved', { values: { approval_status: 'app' } }) }),
      this.moderates && button({ icon: 'close', text: 'Reject', onclick: reject }),
      this.moderates && button({ text: 'Pending', onclick: () => decide('Set to pending', { values: { approval_status: 'pen' } }) }),
      this.tags && button({ icon: 'tag', text: 'Tag…', onclick: () => items().length > 0 && tag() }),
      this.tags && button({ text: 'Remove a tag…', onclick: () => items().length > 0 && untag() }),
    ];
  }

  /**
   * @param {string} text
   * @param {import('./decisions.js').Edit} edit
   * @param {Item[]} items
   */
  #decide(text, edit, items) {
    if (items.length === 0) return toast('Select the items first.');
    this.decisions.decide(text, edit, items.map((item) => ({ entry: this.#entry(item), saw: this.shown(item) })));
    const [first] = items;
    toast(`${text}: ${items.length === 1 ? `item ${first.id} by ${authorOf(first)}` : count(items.length, 'item')}`, { action: { text: 'Undo', run: () => this.undo() } });
  }

  /** @param {Item} item */
  #entry(item) {
    return this.decisions.entry(item, this.#since);
  }

  /** @param {boolean} on */
  #turn(on) {
    this.on = on;
    this.switch.setAttribute('aria-pressed', String(on));
    this.#choose([]);
    this.o.toggled();
  }

  /** @param {number[]} ids */
  #choose(ids) {
    const before = this.ids;
    this.ids = new Set(ids);
    this.#anchor = -1;
    this.#update();
    for (const id of new Set([...before, ...ids])) if (before.has(id) !== this.ids.has(id)) this.o.changed(id);
    if (this.on && ids.length > 0) announce(`${number(this.ids.size)} selected`);
  }

  #update() {
    this.bar.hidden = !this.on;
    fill(this.number, `${number(this.ids.size)} selected`);
    this.undoButton.disabled = this.decisions.history.length === 0;
  }
}
