// The kind of machines in which the sandboxes of `platform dev` run, from PLATFORM_DEV_SANDBOX. Read by sandboxes.ts at
// the start.

/** Values of `PLATFORM_DEV_SANDBOX`. */
const CHOICES = ['container', 'local'] as const;
export type SandboxChoice = (typeof CHOICES)[number];

/** Null: automatic. @throws {Error} with valid values. */
export function sandboxChoice(environment: Readonly<Record<string, string | undefined>>): SandboxChoice | null {
  const given = environment['PLATFORM_DEV_SANDBOX']?.trim() ?? '';
  if (given === '') return null;
  const choice = CHOICES.find((each) => each === given);
  if (choice === undefined) throw new Error(`PLATFORM_DEV_SANDBOX is "${given}": it must be ${CHOICES.join(' or ')}`);
  return choice;
}
