// Types of typebox.mjs.
import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
export type { Static, TSchema } from 'typebox';
export { Type, Type as default } from 'typebox';
export type { XStatic } from 'typebox/schema';

/** A check of values, compiled to JavaScript. */
export interface Validator<T extends TSchema> {
  Check(value: unknown): value is Static<T>;
  /** The problems of the value; empty if it is valid. */
  Errors(value: unknown): TLocalizedValidationError[];
}

export declare function Compile<const T extends TSchema>(type: T): Validator<T>;
