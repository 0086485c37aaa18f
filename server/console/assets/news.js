// Follows the list of a page. What others have changed in its items appears in place. Nothing else moves until the user asks for the items
// that are new in the list.

import { follow, may, Problem, search, send } from './api.js';
import { decisionsOf } from './desk.js';
import { button, fill, h } from './dom.js';
import { requestOf } from './listing.js';
import { announce, count } from './ui.js';

/** @typedef {import('./item.js').Item} Item */
/** @typedef {{id: number, change: string, item?: Item}} Change an item that is in the list now, or only its ID if it is not */

/** The maximum number of items that are read again with one request. */
const batch = 100;

export class News {
  /**
   * @param {object} options
   * @param {import('./api.js').Session} options.session
   * @param {import('./listing.js').Listings} options.lists
   * @param {import('./grid.js').Grid} options.grid
   * @param {HTMLElement} options.before the element before which the number of new items appears
   * @param {() => boolean} options.untouched whether another list can appear without moving anything under the user
   * @param {() => Promise<void>} options.load loads the list again
   */
  constructor(options) {
    this.o = options;
    this.decisions = decisionsOf(options.session);
    this.button = button({ text: '', kind: 'quiet', hidden: true, onclick: () => void options.load().then(() => options.grid.focus(options.grid.active)) });
    options.before.before(h('span', { class: 'news', role: 'status' }, this.button));
  }

  /** The loaded items that have left the list. @type {Set<number>} */
  gone = new Set();
  /** The loaded items that must be read again. @type {Set<number>} */
  #stale = new Set();
  /** The number of items of the list now. */
  #total = 0;
  /** Whether more than the items has changed, such as the filter. */
  #differs = false;
  #abort = new AbortController();

  /** Follows the list that the page shows from now on. */
  start() {
    this.stop();
    this.#abort = new AbortController();
    this.gone.clear();
    this.#stale.clear();
    this.#total = this.o.lists.shown.total;
    this.#differs = false;
    this.update();
    void this.#follow(this.o.lists.shown, this.#abort.signal);
  }

  stop() {
    this.#abort.abort();
  }

  /** Shows how many items of the list the page does not show. */
  update() {
    const n = this.#total - this.o.lists.shown.total + this.gone.size;
    const text = this.#differs ? 'The list has changed' : n > 0 ? count(n, 'new item') : '';
    if (text === this.button.textContent) return;
    this.button.hidden = text === '';
    fill(this.button, h('span', null, text));
  }

  /** @param {import('./listing.js').Listing} listing @param {AbortSignal} signal */
  async #follow(listing, signal) {
    const { filter, q } = listing.source;
    let next = '';
    for (let delay = 1; !signal.aborted;) {
      try {
        const since = this.decisions.time;
        const at = new URL(next || `/v2/content/changes${search(filter ? { filter } : { q: q || '*:*' })}`, location.href);
        if (next) at.searchParams.set('wait', this.#stale.size > 0 ? '1' : '25');
        const { data } = await follow(at.href, { signal, background: true });
        const { changes } = data._embedded;
        this.#apply(listing, changes, since);
        // The first cursor is newer than the list. The feed of a filter does not know the query that narrows it.
        if (data.reset || (filter && q && changes.length > 0)) await this.#compare(listing, signal, data.reset && next !== '');
        else if (!data.more) this.#total = data.total_results;
        await this.#read(listing, signal);
        next = data._links.next.href;
        delay = 1;
      } catch (err) {
        const status = err instanceof Problem ? err.status : 0;
        if (status === 400 && next) next = ''; // the server does not know the cursor
        else if (status >= 400 && status < 500 && status !== 429) return;
        delay = Math.min(2 * delay, 60);
      }
      if (signal.aborted) return;
      this.update();
      await new Promise((done) => { setTimeout(done, 1000 * delay); }); // even if items change all the time
      if (document.hidden) await new Promise((done) => { document.addEventListener('visibilitychange', done, { once: true, signal }); });
    }
  }

  /**
   * Reads the first page of the list again, and shows what is different.
   * @param {import('./listing.js').Listing} listing
   * @param {AbortSignal} signal
   * @param {boolean} reset whether more than the items can have changed
   */
  async #compare(listing, signal, reset) {
    const { path, query } = requestOf(listing.source);
    const since = this.decisions.time;
    const { data, status } = await send('GET', `api/${path}`, { query, signal, background: true, ifNoneMatch: listing.etag });
    if (status === 304) return;
    /** @type {Item[]} */
    const items = data._embedded?.['ugc:item'] ?? [];
    /** @type {Change[]} */
    const changes = items.map((item) => ({ id: Number(item.id), change: 'upsert', item }));
    const places = items.map(({ id }) => listing.items.findIndex((item) => item.id === id));
    if (!data._links?.next) changes.push(...listing.items.filter((_, i) => !places.includes(i)).map(({ id }) => ({ id: Number(id), change: 'remove' })));
    const left = this.gone.size;
    this.#apply(listing, changes, since);
    this.#total = data.total_results ?? 0;
    if (!reset || (this.gone.size === left && places.every((place, i) => place >= 0 && !(place < places[i - 1])))) return;
    if (this.o.untouched()) await this.o.load();
    else this.#differs = true;
  }

  /**
   * @param {import('./listing.js').Listing} listing
   * @param {Change[]} changes
   * @param {number} since the value of Decisions.time when they were requested
   */
  #apply(listing, changes, since) {
    this.#show(listing, changes.flatMap(({ item }) => item ?? []), since);
    for (const { id, item } of changes) {
      const at = listing.items.findIndex((other) => Number(other.id) === id);
      if (at < 0) continue;
      if (!item && may(this.o.session)) this.#stale.add(id);
      if (!item === this.gone.has(id)) continue;
      if (item) this.gone.delete(id);
      else this.gone.add(id);
      this.o.grid.refresh(at);
    }
  }

  /** Reads what the feed does not say. @param {import('./listing.js').Listing} listing @param {AbortSignal} signal */
  async #read(listing, signal) {
    const ids = [...this.#stale].slice(0, batch);
    if (ids.length === 0) return;
    const since = this.decisions.time;
    const { data } = await send('GET', 'api/v2/content/items', { query: { q: `id:(${ids.join(',')})`, sort_by: 'id:asc', page_size: batch }, signal, background: true });
    for (const id of ids) this.#stale.delete(id);
    this.#show(listing, data._embedded['ugc:item'], since);
  }

  /**
   * Shows what others have changed in items. Those with decisions that were not saved when they were requested must be read again.
   * @param {import('./listing.js').Listing} listing
   * @param {Item[]} items
   * @param {number} since
   */
  #show(listing, items, since) {
    let decided = 0;
    for (const item of items) {
      const at = listing.items.findIndex(({ id }) => id === item.id);
      if (at < 0) continue;
      if (this.decisions.busy(Number(item.id), since)) this.#stale.add(Number(item.id));
      else {
        listing.items[at] = item;
        if (this.decisions.refresh(item, since)) decided++;
      }
    }
    if (decided > 0) announce(`Others have decided on ${count(decided, 'item')}`);
  }
}
