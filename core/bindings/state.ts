// The kind `state`: key-value state.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const state = {
  schema: bindingMap('Key-value state.'),
  otherNames: ['kv'],
  type: 'StateBinding',
  label: 'State',
  module: 'state',
  calls: ['get', 'put', 'delete', 'list', 'update'],
  methods: ['get', 'put', 'set', 'compareAndSet', 'delete', 'list', 'update'],
  isPlain: true,
  ofPreview: 'resource',
  isMeasured: true,
  reads: ['state.list', 'state.get'],
  wrangler: {
    key: 'kv_namespaces',
    resource: '',
    notNeeded: ['id', 'preview_id'],
    unsupported: { remote: 'no equivalent: `platform dev` has its own data' },
  },
  page: { path: 'state', title: 'State', one: 'state', area: 'storage' },
  storage: {
    kind: 'state',
    sql: `SELECT namespace AS project, sum(octet_length(key) + octet_length(value)
        + coalesce(octet_length(metadata), 0) + 100) AS bytes
      FROM binding.state GROUP BY namespace`,
  },
} as const satisfies BindingDescriptor;
