// The kind `workflow`: durable workflows.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingName, EXPECTS_NAMES, resourceName } from './schemas.ts';

/** A workflow: its name, or a map with its name and the class that the worker exports. */
const workflowMap = {
  type: 'object',
  description: 'Durable workflows.',
  patternProperties: {
    [bindingName.pattern]: {
      anyOf: [
        resourceName,
        {
          type: 'object',
          additionalProperties: false,
          required: ['name'],
          properties: {
            name: resourceName,
            class: {
              type: 'string',
              pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,127}$',
              description: 'Exported class of the worker that extends `WorkflowEntrypoint`.',
              expects: 'the name of an exported class',
            },
          },
        },
      ],
      expects: 'a resource name, such as "order", or a map with the key "name"',
    },
  },
  additionalProperties: false,
  expects: 'a map from binding names to workflows, such as "ORDER: order"',
  expectsNames: EXPECTS_NAMES,
} as const;

export const workflow = {
  schema: workflowMap,
  otherNames: [],
  type: 'WorkflowBinding',
  label: 'Workflow',
  module: 'workflow',
  // `trigger` takes `{input, id?}` and returns `{executionId}`; the other calls of a binding take `{id, ...}`. The last
  // five calls come from a run (guest/events/workflow.ts), and their effects are durable before the reply. Instead of a
  // binding, they take `{lease, name}` and, in this order, `{result}`, `{error, attempts, wakeAt | null}`, `{wakeAt}`,
  // `{type, timeoutAt | null}` and `{message, data}`. The first four return `{ended?, step?}`: `ended` when the run is
  // cancelled or paused, `step` for an event that arrived earlier.
  calls: [
    'trigger',
    'get',
    'list',
    'cancel',
    'pause',
    'resume',
    'restart',
    'sendEvent',
    'delete',
    'stepDone',
    'stepFailed',
    'sleep',
    'waitForEvent',
    'log',
  ],
  methods: ['trigger', 'getExecution', 'list', 'cancel', 'pause', 'resume', 'restart', 'sendEvent'],
  isPlain: true,
  ofPreview: 'namespace',
  isMeasured: false,
  reads: ['workflow.list', 'workflow.get'],
  wrangler: {
    key: 'workflows',
    resource: 'name',
    notNeeded: [],
    unsupported: {
      remote: 'no equivalent: `platform dev` has its own data',
      schedules: 'not supported: declare a `cron` and call `create` in `scheduled`',
      script_name: 'not supported: a workflow belongs to the project that declares it',
    },
  },
  page: { path: 'workflows', title: 'Workflows', one: 'workflow', area: 'jobs' },
  // Together with timers, which share its lanes.
  storage: {
    kind: 'workflows',
    sql: `SELECT split_part(namespace, '~~', 1) AS project, sum(bytes) AS bytes FROM (
        SELECT lane_id, octet_length(payload) + 100 AS bytes FROM binding.timer
        UNION ALL
        SELECT lane_id, octet_length(input) + coalesce(octet_length(output), 0) + coalesce(octet_length(error), 0)
          + 100 FROM binding.workflow_execution
        UNION ALL
        SELECT lane_id, octet_length(s.name) + coalesce(octet_length(s.result), 0)
          + coalesce(octet_length(s.error), 0) + 100
          FROM binding.workflow_step s JOIN binding.workflow_execution e ON e.seq = s.execution_seq
        UNION ALL
        SELECT lane_id, octet_length(w.payload) + 100
          FROM binding.workflow_event w JOIN binding.workflow_execution e ON e.seq = w.execution_seq
        UNION ALL
        SELECT lane_id, octet_length(l.message) + coalesce(octet_length(l.content), 0) + 100
          FROM binding.workflow_log l JOIN binding.workflow_execution e ON e.seq = l.execution_seq
      ) AS kept JOIN binding.lane ON lane.id = kept.lane_id GROUP BY 1`,
  },
} as const satisfies BindingDescriptor;
