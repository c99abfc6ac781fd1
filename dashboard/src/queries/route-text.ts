// Names of events and bindings in usage. Names of a preview end with its branch.

/** The same as `previewSeparator` of core/preview.ts, which needs Node. */
const SEPARATOR = '~~';

/** @example routeText('mail~~login') // 'mail (preview login)' */
export function routeText(route: string): string {
  const at = route.indexOf(SEPARATOR);
  return at < 0 ? route : `${route.slice(0, at)} (preview ${route.slice(at + SEPARATOR.length)})`;
}

/** The name of a route as logs have it. @example nameOfRoute('mail~~login') // 'mail' */
export function nameOfRoute(route: string): string {
  return route.split(SEPARATOR, 1)[0]!;
}
