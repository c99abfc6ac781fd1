// The kind `sandbox`: machines that run programs.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const sandbox = {
  schema: bindingMap('Sandboxes.'),
  otherNames: [],
  type: 'SandboxBinding',
  label: 'Sandboxes',
  module: 'sandbox',
  // Takes `{binding, method, url, headers, stream}` and a body, and returns a response, like fetch. The path of the URL
  // is the part of the service's path that begins with the sandbox's id.
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
