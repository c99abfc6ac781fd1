// URLPattern, from urlpattern-polyfill: it needs nothing but our URL class, which it finds as a global. A module of
// lazy.ts.
import { URLPattern } from 'urlpattern-polyfill/urlpattern';

export default function createUrlPattern(): Record<string, unknown> {
  return { URLPattern };
}
