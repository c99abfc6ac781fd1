// The kind `timer`: timers that call the worker.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const timer = {
  schema: bindingMap('Timers.'),
  otherNames: [],
  type: 'TimerBinding',
  label: 'Timers',
  module: 'timer',
  // `set` takes `{id, at | afterMs, payload?, intervalMs?, cron?, timezone?}`. `get` returns `{id, scheduledTime,
  // payload, intervalMs}` or null.
  calls: ['set', 'get', 'delete', 'list'],
  methods: ['set', 'get', 'delete', 'list'],
  isPlain: true,
  ofPreview: 'namespace',
  isMeasured: false,
  reads: ['timer.list'],
  wrangler: null,
  page: { path: 'timers', title: 'Timers', one: 'timer binding', area: 'jobs' },
  // Counted with workflows.
  storage: null,
} as const satisfies BindingDescriptor;
