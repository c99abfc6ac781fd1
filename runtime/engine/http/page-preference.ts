// Decides whether an error is sent as a page or as JSON. Pure; used where the platform or static files answer a
// request.

/** Whether a browser displays the response, which is assumed if it navigates and prefers HTML to JSON. */
export function prefersPage(request: { header(name: string): string | null }): boolean {
  const accept = request.header('accept');
  if (accept === null || !accept.includes('text/html')) return false;
  const mode = request.header('sec-fetch-mode');
  return (
    (mode === null || mode === 'navigate') && qualityOf(accept, 'text/html') > qualityOf(accept, 'application/json')
  );
}

/** The quality of a media type that an Accept header names; 0 if the header does not name the type. */
function qualityOf(accept: string, type: string): number {
  for (const entry of accept.split(',')) {
    const [name = '', ...parameters] = entry.split(';');
    if (name.trim().toLowerCase() !== type) continue;
    const quality = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/i.exec(parameter)?.[1]).find(Boolean);
    return quality === undefined ? 1 : Number(quality);
  }
  return 0;
}
