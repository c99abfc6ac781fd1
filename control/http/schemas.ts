// Schemas shared by several resources of the API.
import { releaseRules } from '#core/release-settings.ts';
import Type, { type TSchema } from '#core/typebox/typebox.mjs';

/** Makes a schema nullable. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

/** A point in time, as `2026-11-23T08:30:00.000Z`. */
export const Timestamp = Type.String({ format: 'date-time' });

/** Id of an organization, a project, and so on. */
export const Id = Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_]+$' });

/** No control characters, line breaks or bidirectional controls, since names are shown in terminals and pages. */
export const ONE_LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$';

/** A name that a user gives. */
export const Label = Type.String({ minLength: 1, maxLength: 100, pattern: ONE_LINE });

/** An email address. */
export const EmailAddress = Type.String({ maxLength: 254, pattern: '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$' });

const Factor = Type.String({ pattern: releaseRules.factor, description: 'Such as 1.5x' });
/** The keys of `release` in platform.yaml. */
export const releaseKeys = {
  steps: Type.Array(Type.Integer({ minimum: releaseRules.percentMin, maximum: releaseRules.percentMax }), {
    maxItems: releaseRules.stepsMax,
    description: 'Percentages of the visitors, in ascending order; the last one is 100',
  }),
  minutes: Type.Integer({ minimum: releaseRules.minutesMin, maximum: releaseRules.minutesMax }),
  errors: Type.String({ pattern: releaseRules.errors, description: 'Such as 1%' }),
  p99: Factor,
  cpu: Factor,
};
/** `release` in platform.yaml, with all keys. */
export const ReleaseSettingsSchema = Type.Object(releaseKeys);
