// The kind `sandbox`: machines that run programs.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const sandbox = {
  schema: bindingMap('Sandboxes.'),
  otherNames: [],
  type: 'SandboxBinding',
  label: 'Sandboxes',
  module: 'sandbox',
  // `{binding, method, url, headers, stream}` and the body as for fetch -> as fetch; the path of the url is the
  // service's, from the sandbox's id on.
  calls: ['call'],
  methods: ['get', 'list', 'listSnapshots', 'deleteSnapshot'],
  isPlain: false,
  ofPreview: 'resource',
  isMeasured: false,
  reads: ['sandbox.place'],
  wrangler: null,
  page: { path: 'sandboxes', title: 'Sandboxes', one: 'sandbox binding', area: 'storage' },
  storage: {
    kind: 'sandboxes',
    sql: `SELECT split_part(project, '~~', 1) AS project, sum(coalesce(disk_bytes,
        CASE WHEN options->'taken'->>'sizeBytes' ~ '^[0-9]+$'
          THEN (options->'taken'->>'sizeBytes')::float8::bigint END, 0)) AS bytes
      FROM sandbox.sandbox GROUP BY 1`,
  },
} as const satisfies BindingDescriptor;
