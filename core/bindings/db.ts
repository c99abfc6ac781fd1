// The kind `db`: SQL databases.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const db = {
  schema: bindingMap('SQL databases.'),
  otherNames: ['database', 'databases', 'd1', 'sql'],
  type: 'Database',
  label: 'SQL database',
  module: 'database',
  // `run` takes `{op, transaction}`, with the request as a part, and returns the response as a part
  // (core/database-request.ts). `send` takes `{transaction, queue, message}`, with the message as for queue.send, and
  // returns `{messageId}`, with the response as a part.
  calls: ['run', 'send'],
  methods: ['prepare', 'batch', 'exec', 'transaction'],
  isPlain: false,
  ofPreview: 'resource',
  isMeasured: true,
  reads: [
    'db.tables',
    'db.rows',
    'db.cell',
    'db.explain',
    'db.slow',
    'db.migrations',
    'db.copy',
    'db.copies',
    'db.moments',
  ],
  wrangler: {
    key: 'd1_databases',
    resource: 'database_name',
    notNeeded: ['database_id', 'preview_database_id'],
    unsupported: {
      jurisdiction: 'no equivalent: your platform stores the data',
      migrations_table: 'not needed: the platform keeps its own list of migrations',
      remote: 'no equivalent: `platform dev` has its own data',
    },
  },
  page: { path: 'databases', title: 'Databases', one: 'database', area: 'storage' },
  storage: null,
} as const satisfies BindingDescriptor;
