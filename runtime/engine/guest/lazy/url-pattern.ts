// URLPattern, from urlpattern-polyfill: it only needs our URL class, as a global. A module of lazy.ts.
import { URLPattern } from 'urlpattern-polyfill/urlpattern';

export default function createUrlPattern(): Record<string, unknown> {
  return { URLPattern };
}
