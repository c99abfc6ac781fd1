// URLPattern, from urlpattern-polyfill: it only needs our URL class, as a global. lazy.ts loads this module when it is
// first used.
import { URLPattern } from 'urlpattern-polyfill/urlpattern';

export default function createUrlPattern(): Record<string, unknown> {
  return { URLPattern };
}
