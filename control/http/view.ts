// Rows of the database as the API shows them: only the fields of a schema, so that no other column, such as a secret,
// gets out.
import type { Static, TSchema } from '#core/typebox/typebox.mjs';

type ObjectSchema = TSchema & { readonly properties: object };

/**
 * Reads the fields of a schema from rows: `createdAt` from the column `created_at`, dates as ISO text.
 *
 * @param computed fields whose value is not simply the column of the same name.
 * @example const toHook = viewOf(Hook); toHook(row) // { id, name, createdAt: '2026-11-23T08:30:00.000Z' }
 */
export function viewOf<Schema extends ObjectSchema, Row extends object = object>(
  schema: Schema,
  computed: Readonly<Record<string, (row: Row) => unknown>> = {},
): (row: Row) => Static<Schema> {
  const reads = Object.keys(schema.properties).map((name) => {
    const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const plain = (row: Row): unknown => (row as Readonly<Record<string, unknown>>)[column];
    return [name, computed[name] ?? plain] as const;
  });
  return (row) =>
    Object.fromEntries(
      reads.map(([name, read]) => {
        const value = read(row);
        return [name, value instanceof Date ? value.toISOString() : value];
      }),
    ) as Static<Schema>;
}
