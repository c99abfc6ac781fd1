// Exposed ports in Postgres: `sandbox.exposed_port`, whose rows are deleted with their sandbox.
import type { Postgres } from '#postgres/connection.ts';
import type { ExposedPort, ExposedPortRows } from '../routes/exposed-ports.ts';

interface Stored {
  readonly name: string;
  readonly port: number;
  readonly label: string | null;
  readonly is_public: boolean;
}

const COLUMNS = 'e.name, e.port, e.label, e.is_public';
const OF_PLACE = `sandbox.sandbox s WHERE e.key = s.key AND s.project = $1 AND s.resource = $2 AND s.id = $3`;

export function createPostgresPorts(sql: Postgres): ExposedPortRows {
  return {
    async expose({ key }, { name, port, label, isPublic }, most) {
      const [row] = await sql.all<Stored>(
        `INSERT INTO sandbox.exposed_port AS e (name, key, port, label, is_public)
         SELECT $1, s.key, $3, $4, $5 FROM sandbox.sandbox s WHERE s.key = $2
           AND ((SELECT count(*) FROM sandbox.exposed_port WHERE key = $2) < $6
             OR EXISTS (SELECT FROM sandbox.exposed_port WHERE key = $2 AND port = $3))
         ON CONFLICT (key, port) DO UPDATE SET label = excluded.label, is_public = excluded.is_public
         RETURNING ${COLUMNS}`,
        name,
        key,
        port,
        label,
        isPublic,
        most,
      );
      return row === undefined ? null : portOf(row);
    },
    async remove({ project, resource, id }, port) {
      await sql.all(
        `DELETE FROM sandbox.exposed_port e USING ${OF_PLACE} AND e.port = $4`,
        project,
        resource,
        id,
        port,
      );
    },
    async list({ project, resource, id }) {
      const rows = await sql.all<Stored>(
        `SELECT ${COLUMNS} FROM sandbox.exposed_port e, ${OF_PLACE} ORDER BY e.port`,
        project,
        resource,
        id,
      );
      return rows.map(portOf);
    },
    async find(name) {
      const [row] = await sql.all<Stored & { key: string; project: string; resource: string; id: string }>(
        `SELECT ${COLUMNS}, s.key, s.project, s.resource, s.id
         FROM sandbox.exposed_port e JOIN sandbox.sandbox s ON s.key = e.key WHERE e.name = $1`,
        name,
      );
      if (row === undefined) return null;
      const { key, project, resource, id } = row;
      return { ...portOf(row), key, place: { project, resource, id } };
    },
  };
}

function portOf({ name, port, label, is_public }: Stored): ExposedPort {
  return { name, port, label, isPublic: is_public };
}
