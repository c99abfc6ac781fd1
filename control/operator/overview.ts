// Figures for the operator's page: the machine, the engines, and the busiest and most failing projects. Called by
// api/routes/operator.ts. Read-only.
import { statfs } from 'node:fs/promises';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { invocationKinds } from '#core/plans.ts';
import type { Sql } from '#postgres/sql.ts';
import type { PrivatePort } from '../process/private-port.ts';
import { readHandlerStatus } from './handler-status.ts';

const PROJECTS_MAX = 20;

/** CPU, memory and disk of the machine of this process. @param folder the folder with the data */
export async function readMachine(folder: string) {
  const { bavail, blocks, bsize } = await statfs(folder);
  return {
    cores: availableParallelism(),
    load: loadavg()[0]!,
    memoryBytes: totalmem(),
    memoryFreeBytes: freemem(),
    diskBytes: blocks * bsize,
    diskFreeBytes: bavail * bsize,
  };
}

/** The engines; null if the handler does not respond. */
export async function readEngines(privatePort: PrivatePort) {
  try {
    const { engines = [] } = await readHandlerStatus(privatePort);
    return engines.map(({ id = 0, role = '', state = '', restarts = 0, load = 0, status }) => ({
      id,
      role,
      state,
      restarts,
      load,
      rssBytes: status?.rssBytes ?? 0,
    }));
  } catch {
    return null;
  }
}

/** Projects with the most invocations or failures of the last hour, the busiest first. */
export async function readBusiest(sql: Sql) {
  return sql<
    {
      readonly projectId: string;
      readonly name: string;
      readonly organization: string;
      readonly invocations: number;
      readonly failures: number;
      readonly cpuMs: number;
    }[]
  >`
    WITH used AS (
      SELECT project_id, sum(invocations)::bigint AS invocations, sum(failures)::bigint AS failures,
        sum(cpu_ms + host_cpu_ms) AS cpu_ms
      FROM control.usage_minute
      WHERE minute > now() - interval '1 hour' AND kind = ANY(${[...invocationKinds]}) GROUP BY project_id),
    ranked AS (
      SELECT *, rank() OVER (ORDER BY invocations DESC) AS by_invocations, rank() OVER (ORDER BY failures DESC) AS by_failures
      FROM used)
    SELECT project_id AS "projectId", project.name, organization.slug AS organization, invocations, failures,
      cpu_ms AS "cpuMs"
    FROM ranked
    JOIN control.project ON project.id = project_id AND project.deleted_at IS NULL
    JOIN control.organization ON organization.id = organization_id
    WHERE by_invocations <= ${PROJECTS_MAX} OR (failures > 0 AND by_failures <= ${PROJECTS_MAX})
    ORDER BY invocations DESC, project_id LIMIT ${2 * PROJECTS_MAX}`;
}
