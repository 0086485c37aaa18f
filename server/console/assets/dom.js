// Creates DOM nodes. All parts of the console use these functions. A text therefore always becomes a text node and never markup, and a
// URL that is neither http nor https never becomes a link or a source.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Child | Child[]} Children */

/**
 * Creates an element. An attribute whose value is a function becomes an event listener (`onclick`). The value true sets an empty
 * attribute. The values false, null and undefined set no attribute. `value`, `checked` and `indeterminate` are set as properties.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...flat(children));
  return element;
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {any} value
 */
function set(element, name, value) {
  if (value === false || value === null || value === undefined) return;
  if (typeof value === 'function') element.addEventListener(name.slice(2), value);
  else if (name === 'value' || name === 'checked' || name === 'indeterminate') /** @type {any} */ (element)[name] = value;
  else if (name === 'href' || name === 'src' || name === 'poster') {
    if (webURL(value)) element.setAttribute(name, value);
  } else element.setAttribute(name, value === true ? '' : String(value));
}

/**
 * @param {Children[]} children
 * @returns {(Node | string)[]}
 */
function flat(children) {
  return children.flat().filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : String(c)));
}

/**
 * Replaces the children of an element.
 * @param {Element} element
 * @param {...Children} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
}

/**
 * Returns the URL if it is an http or https URL, and otherwise ''. Relative URLs refer to the console.
 * @param {unknown} url
 */
export function webURL(url) {
  if (typeof url !== 'string' || url === '') return '';
  try {
    const { protocol } = new URL(url, location.href);
    return protocol === 'https:' || protocol === 'http:' ? url : '';
  } catch {
    return '';
  }
}

/**
 * Returns the URL if it is an absolute http or https URL outside of the console, and otherwise ''. URLs in items need this check, because
 * an item must not make the browser send a request with the session.
 * @param {unknown} url
 */
export function foreignURL(url) {
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url) || !webURL(url)) return '';
  const { origin, pathname } = new URL(url);
  if (origin !== location.origin) return url;
  try {
    // A server may treat an encoded path, or a path with empty segments, as the path of the console.
    return `${decodeURIComponent(pathname)}/`.replace(/\/{2,}/g, '/').includes('/console/') ? '' : url;
  } catch {
    return '';
  }
}

/**
 * Returns a link to a page outside of the console. If foreignURL rejects the URL, it returns only the text.
 * @param {unknown} url
 * @param {string} [text]
 * @returns {Node}
 */
export function outsideLink(url, text) {
  const shown = text || String(url ?? '');
  const href = foreignURL(url);
  if (!href) return h('bdi', null, shown);
  return h('a', { href, rel: 'noopener noreferrer', target: '_blank', referrerpolicy: 'no-referrer' }, h('bdi', null, shown));
}

/** The paths of the icons, drawn with strokes on a grid of 16 by 16. */
const icons = {
  wall: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  filters: 'M2 3.5h12L9.5 9v4.5l-3-1.5V9z',
  tags: 'M8.5 2.5h5v5l-6 6-5-5zM10.8 5.2h.01',
  moderation: 'M2.5 8.5l3.5 3.5 7.5-8',
  status: 'M1.5 8.5h3l2-5.5 3 10 2-4.5h3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3',
  close: 'M4 4l8 8M12 4l-8 8',
  left: 'M10 3L5 8l5 5',
  right: 'M6 3l5 5-5 5',
  play: 'M5.5 3.5l7 4.5-7 4.5z',
  star: 'M8 2l1.8 3.8 4.2.5-3.1 2.9.8 4.2L8 11.3l-3.7 2.1.8-4.2L2 6.3l4.2-.5z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  download: 'M8 2.5v8M4.5 7.5L8 11l3.5-3.5M2.5 13.5h11',
  text: 'M3 4.5V3h10v1.5M8 3v10M6 13h4',
  image: 'M2.5 3h11v10h-11zM2.5 11l3.5-3.5 3 3 2-2 2.5 2.5M10.5 6h.01',
  undo: 'M5.5 3L2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H7',
  out: 'M9.5 3h3.5v10H9.5M6.5 5L3.5 8l3 3M3.5 8h6.5',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  keys: 'M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6',
  warning: 'M8 2.5l6 11H2zM8 6.5v3.5M8 12h.01',
  compare: 'M5 2.5v11M5 13.5l-2.5-2.5M5 13.5l2.5-2.5M11 13.5v-11M11 2.5L8.5 5M11 2.5L13.5 5',
  edit: 'M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z',
  shuffle: 'M2 4.5h2.5l6 7H14M2 11.5h2.5l1.7-2M8.8 6.5l1.7-2H14M12 2.5l2 2-2 2M12 9.5l2 2-2 2',
  tag: 'M8.5 2.5h5v5l-6 6-5-5zM10.8 5.2h.01',
  options: 'M2 4.5h6M11.5 4.5H14M2 11.5h2.5M8 11.5h6M8 4.5a1.7 1.7 0 1 0 3.5 0 1.7 1.7 0 0 0-3.5 0zM4.5 11.5a1.7 1.7 0 1 0 3.5 0 1.7 1.7 0 0 0-3.5 0z',
};

/**
 * Returns an icon. Assistive technology ignores the icon, because the control around it has a name.
 * @param {keyof typeof icons} name
 */
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', icons[name]);
  svg.append(path);
  return svg;
}

/**
 * Returns a button with an icon and a text. With `only`, the button shows only the icon, and the text becomes its accessible name and
 * tooltip.
 * @param {{icon?: keyof typeof icons, text: string, only?: boolean, kind?: 'primary' | 'quiet' | 'danger', key?: string} & Record<string, any>} options
 */
export function button({ icon: symbol, text, only, kind, key, ...attributes }) {
  return h('button', {
    type: 'button', ...attributes, class: ['button', kind, only && 'only', attributes.class].filter(Boolean).join(' '),
    'aria-label': only ? text : attributes['aria-label'], title: only || key ? text + (key ? ` (${key})` : '') : attributes.title ?? null,
    'aria-keyshortcuts': key && key.length === 1 ? key : null,
  }, symbol && icon(symbol), !only && h('span', null, text), key && h('kbd', { 'aria-hidden': 'true' }, key));
}

let serial = 0;

/** Returns an id that no other element has. */
export function uniqueID() {
  serial += 1;
  return `x${serial}`;
}

/**
 * Returns a control with a visible label before it.
 * @param {string} text
 * @param {HTMLElement} control
 * @param {string} [className]
 */
export function labelled(text, control, className) {
  control.id ||= uniqueID();
  return h('div', { class: ['field', className].filter(Boolean).join(' ') }, h('label', { for: control.id }, text), control);
}

/**
 * Returns a select element.
 * @param {[value: string, text: string][]} options
 * @param {string} value
 * @param {(value: string) => void} changed
 */
export function select(options, value, changed) {
  const element = h('select', { onchange: () => changed(element.value) }, options.map(([v, text]) => h('option', { value: v }, text)));
  element.value = value;
  return element;
}

/**
 * Returns a function that calls `run` when `ms` milliseconds have passed since the last call of the function.
 * @template {any[]} A
 * @param {number} ms
 * @param {(...args: A) => void} run
 */
export function debounced(ms, run) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const wait = (/** @type {A} */ ...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...args), ms);
  };
  wait.cancel = () => clearTimeout(timer);
  return wait;
}
