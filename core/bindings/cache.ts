// The kind `cache`: caches of texts that expire.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const cache = {
  schema: bindingMap('Caches.'),
  otherNames: [],
  type: 'CacheBinding',
  label: 'Cache',
  module: 'cache',
  // `cache.match`, `cache.put` and `cache.delete` are the Cache API's (runtime/engine/bridge/call-names.ts).
  calls: ['get', 'set', 'remove'],
  methods: ['get', 'set', 'delete'],
  isPlain: true,
  ofPreview: 'namespace',
  isMeasured: false,
  reads: ['cache.list', 'cache.get'],
  wrangler: null,
  page: { path: 'caches', title: 'Caches', one: 'cache', area: 'storage' },
  storage: null,
} as const satisfies BindingDescriptor;
