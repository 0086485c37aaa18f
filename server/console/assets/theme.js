// Applies the user's color theme before the browser paints the page. This file is not a module, because browsers run modules later.
try {
  const theme = localStorage.getItem('vitrine.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser does not allow storage, so the theme of the system applies.
}
