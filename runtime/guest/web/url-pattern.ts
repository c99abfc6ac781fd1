// URLPattern, from urlpattern-polyfill: it needs nothing but our URL class, which it finds as a global.
export { URLPattern } from 'urlpattern-polyfill/urlpattern';
