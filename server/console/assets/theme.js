// What the page needs before it has loaded its modules. This file is not a module, because browsers run modules later.

// Apply the user's color theme before the browser paints the page.
try {
  const theme = localStorage.getItem('vitrine.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser does not allow storage, so the theme of the system applies.
}
// Request the session while the modules load. A login, which is on another page or has a code in the fragment, begins another session.
if (location.hash === '' && !location.pathname.endsWith('/login')) {
  /** @type {any} */ (window).earlySession = fetch('/console/session', { credentials: 'same-origin', redirect: 'error', headers: { 'X-Vitrine-Console': '1' } })
    .then(async (response) => (response.ok ? { data: response.status === 204 ? null : await response.json() } : null), () => null);
}
