// A grid of tiles of the same size. It stays fast with any number of items, because the document contains only the tiles that are in or
// near the window.

import { h } from './dom.js';

/**
 * @typedef {object} GridOptions
 * @property {HTMLElement} scroller the element that scrolls
 * @property {number} minWidth the minimum width of a tile in pixels
 * @property {number} caption the height below the square picture in pixels
 * @property {number} [gap]
 * @property {string} role feed or listbox
 * @property {string} label
 * @property {(index: number, focusable: boolean) => HTMLElement} render returns a tile. `data-focus` marks the element in it that gets
 *   the focus
 * @property {(index: number) => void} [moved] is called when the focus has moved to an item
 * @property {() => void} [nearEnd] is called when the window is near the last items
 */

/** The grid also creates the tiles that are up to this number of pixels above or below the window. */
const margin = 600;

export class Grid {
  /** @param {GridOptions} options */
  constructor(options) {
    this.o = options;
    this.gap = options.gap ?? 12;
    this.count = 0;
    this.total = 0;
    this.columns = 1;
    /** The width of a tile, or 0 before the first layout. */
    this.width = 0;
    /** The index of the item that has the focus or that gets the focus when the user presses Tab. */
    this.active = 0;
    /** @type {Map<number, HTMLElement>} */
    this.tiles = new Map();
    this.element = h('div', { class: 'grid', role: options.role, 'aria-label': options.label });
    this.element.addEventListener('keydown', (event) => this.#key(event));
    this.element.addEventListener('focusin', (event) => {
      const index = this.indexOf(event.target);
      if (index >= 0 && index !== this.active) this.#activate(index);
    });
    this.#scrolled = () => {
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        this.#paint();
      });
    };
    options.scroller.addEventListener('scroll', this.#scrolled, { passive: true });
    this.observer = new ResizeObserver(() => this.#layout());
    this.observer.observe(this.element);
  }

  frame = 0;
  #scrolled = () => {};

  /** Removes the listeners and observers of the grid. */
  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.o.scroller.removeEventListener('scroll', this.#scrolled);
  }

  get rowHeight() {
    return this.width + this.o.caption + this.gap;
  }

  /**
   * Sets the number of items. Items that are already in the grid keep their tiles.
   * @param {number} count
   * @param {number} total the number of items including those that the page has not loaded yet
   */
  setCount(count, total) {
    this.count = count;
    this.total = total;
    for (const tile of this.tiles.values()) tile.setAttribute('aria-setsize', String(total));
    this.active = Math.min(this.active, Math.max(0, count - 1));
    this.#layout();
  }

  /**
   * Creates all tiles again after the items were replaced.
   * @param {number} [active]
   */
  reset(active = 0) {
    for (const tile of this.tiles.values()) tile.remove();
    this.tiles.clear();
    this.active = active;
  }

  /** @param {number} minWidth */
  resize(minWidth) {
    this.o.minWidth = minWidth;
    this.#layout();
    this.reveal(this.active);
  }

  /**
   * Creates the tile of an item again, because the item has changed.
   * @param {number} index
   */
  refresh(index) {
    const old = this.tiles.get(index);
    if (!old) return;
    const focused = old.contains(document.activeElement);
    const tile = this.#create(index);
    old.replaceWith(tile);
    if (focused) focusable(tile)?.focus({ preventScroll: true }); // the user may have scrolled away from it
  }

  /** @param {EventTarget | null} target @returns {number} */
  indexOf(target) {
    const tile = target instanceof Element ? target.closest('[data-index]') : null;
    return tile && this.element.contains(tile) ? Number(tile.getAttribute('data-index')) : -1;
  }

  /**
   * Moves the focus to an item.
   * @param {number} index
   */
  focus(index) {
    if (this.count === 0) return;
    const at = Math.max(0, Math.min(this.count - 1, index));
    this.reveal(at);
    this.#activate(at);
    focusable(this.tiles.get(at))?.focus({ preventScroll: true });
  }

  /**
   * Scrolls so that an item is visible.
   * @param {number} index
   */
  reveal(index) {
    const { scroller } = this.o;
    const top = this.#top() + Math.floor(index / this.columns) * this.rowHeight;
    const sticky = this.o.role === 'feed' ? stickyHeight(scroller) : 0;
    if (top - sticky < scroller.scrollTop) scroller.scrollTop = top - sticky - this.gap;
    else if (top + this.rowHeight > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + this.rowHeight - scroller.clientHeight;
    this.#paint();
  }

  /** @param {number} index */
  #activate(index) {
    const before = this.active;
    this.active = index;
    for (const i of [before, index]) {
      focusable(this.tiles.get(i))?.setAttribute('tabindex', i === index ? '0' : '-1');
    }
    if (before !== index) this.o.moved?.(index);
  }

  /** Returns the distance of the grid from the top of the scrolled content. */
  #top() {
    return this.element.getBoundingClientRect().top - this.o.scroller.getBoundingClientRect().top + this.o.scroller.scrollTop;
  }

  #layout() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const columns = Math.max(1, Math.floor((width + this.gap) / (this.o.minWidth + this.gap)));
    const tile = Math.floor((width - (columns - 1) * this.gap) / columns);
    // If only the number of items has changed, the existing tiles stay in their places.
    if (columns !== this.columns || tile !== this.width) {
      this.columns = columns;
      this.width = tile;
      this.element.style.setProperty('--tile', `${tile}px`);
      for (const [index, placed] of this.tiles) this.#place(placed, index);
    }
    const rows = Math.ceil(this.count / this.columns);
    this.element.style.height = `${Math.max(0, rows * this.rowHeight - this.gap)}px`;
    this.#paint();
  }

  /** @param {HTMLElement} tile @param {number} index */
  #place(tile, index) {
    tile.style.left = `${(index % this.columns) * (this.width + this.gap)}px`;
    tile.style.top = `${Math.floor(index / this.columns) * this.rowHeight}px`;
  }

  /** @param {number} index */
  #create(index) {
    const tile = this.o.render(index, index === this.active);
    tile.dataset.index = String(index);
    tile.setAttribute('aria-posinset', String(index + 1));
    tile.setAttribute('aria-setsize', String(this.total));
    tile.classList.add('tile');
    this.#place(tile, index);
    this.tiles.set(index, tile);
    return tile;
  }

  /** Creates the tiles in and near the window, and removes all other tiles except the one with the focus. */
  #paint() {
    if (!this.element.isConnected || this.element.clientWidth === 0) return;
    const { scroller } = this.o;
    const offset = scroller.scrollTop - this.#top();
    const firstRow = Math.max(0, Math.floor((offset - margin) / this.rowHeight));
    const lastRow = Math.floor((offset + scroller.clientHeight + margin) / this.rowHeight);
    const first = firstRow * this.columns;
    const last = Math.min(this.count, (lastRow + 1) * this.columns);
    for (const [index, tile] of this.tiles) {
      if ((index < first || index >= last) && (index !== this.active || index >= this.count)) {
        tile.remove();
        this.tiles.delete(index);
      }
    }
    /** @type {HTMLElement[]} */
    const created = [];
    for (let index = first; index < last; index++) {
      if (!this.tiles.has(index)) created.push(this.#create(index));
    }
    if (this.active < this.count && !this.tiles.has(this.active)) created.push(this.#create(this.active));
    // For screen readers, the tiles have the same order in the document as the items.
    const head = this.element.firstElementChild;
    if (head && created.length > 0 && Number(created[0].dataset.index) < Number(head.getAttribute('data-index'))) this.element.prepend(...created);
    else this.element.append(...created);
    if (last >= this.count - 4 * this.columns) this.o.nearEnd?.();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.indexOf(event.target) < 0) return;
    const rows = Math.max(1, Math.floor(this.o.scroller.clientHeight / this.rowHeight));
    /** @type {Record<string, number>} */
    const targets = {
      ArrowRight: this.active + 1, ArrowLeft: this.active - 1, ArrowDown: this.active + this.columns, ArrowUp: this.active - this.columns,
      Home: 0, End: this.count - 1, PageDown: this.active + rows * this.columns, PageUp: this.active - rows * this.columns,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    const to = targets[event.key];
    if (to >= 0 && to < this.count) this.focus(to);
    else if (event.key.startsWith('Page')) this.focus(to);
  }
}

/** @param {HTMLElement} [tile] returns the element of a tile that gets the focus @returns {HTMLElement | null | undefined} */
function focusable(tile) {
  return tile?.matches('[data-focus]') ? tile : tile?.querySelector('[data-focus]');
}

/** @param {HTMLElement} scroller */
function stickyHeight(scroller) {
  return scroller.querySelector('.toolbar')?.clientHeight ?? 0;
}
