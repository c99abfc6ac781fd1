// Types of schemas: all types with the Standard Schema interface (zod, valibot, arktype), or a JSON Schema (as created
// by TypeBox). This file has no code, only types.

/** A validation problem. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Result of validation: the parsed value, or the problems. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[]; readonly value?: undefined };

/**
 * The used part of the Standard Schema interface: supported by zod 4 (and 3.24), valibot 1 and arktype 2.
 *
 * @example const Name: StandardSchema<string> = z.string().min(1);
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/**
 * A schema: Standard Schema, TypeBox type, or JSON Schema (draft 2020-12) written as an object.
 *
 * @example const Id: Schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
 */
export type Schema = object;

/** Input of a schema: sent by a client, or returned by a handler. @example type NewUser = InputOf<typeof User>; */
export type InputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer Input }
    ? Input
    : unknown
  : FromJsonSchema<S>;

/** Output of a schema: received by a handler, or by a client. @example type User = OutputOf<typeof User>; */
export type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : unknown
  : FromJsonSchema<S>;

/** The type described by a JSON Schema, written as a literal or with TypeBox. */
export type FromJsonSchema<S> = S extends { readonly static: infer T; readonly params: readonly unknown[] }
  ? T
  : S extends { readonly '~unsafe': infer T }
    ? T
    : S extends { readonly const: infer C }
      ? C
      : S extends { readonly enum: readonly (infer E)[] }
        ? E
        : S extends { readonly anyOf: readonly (infer U)[] }
          ? Each<U>
          : S extends { readonly oneOf: readonly (infer U)[] }
            ? Each<U>
            : S extends { readonly allOf: infer List extends readonly unknown[] }
              ? All<List>
              : S extends { readonly type: readonly (infer T)[] }
                ? OfType<T, S>
                : S extends { readonly type: infer T }
                  ? OfType<T, S>
                  : unknown;

type Each<U> = U extends unknown ? FromJsonSchema<U> : never;

type All<List extends readonly unknown[]> = List extends readonly [infer First, ...infer Rest]
  ? FromJsonSchema<First> & All<Rest>
  : unknown;

type OfType<T, S> = T extends 'string'
  ? string
  : T extends 'number' | 'integer'
    ? number
    : T extends 'boolean'
      ? boolean
      : T extends 'null'
        ? null
        : T extends 'array'
          ? OfArray<S>
          : T extends 'object'
            ? OfObject<S>
            : unknown;

type OfArray<S> = S extends { readonly prefixItems: infer List extends readonly unknown[] }
  ? OfTuple<List>
  : S extends { readonly items: infer List extends readonly unknown[] }
    ? OfTuple<List>
    : S extends { readonly items: infer Item }
      ? FromJsonSchema<Item>[]
      : unknown[];

type OfTuple<List extends readonly unknown[]> = { -readonly [K in keyof List]: FromJsonSchema<List[K]> };

type RequiredOf<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;

type OfObject<S> = S extends { readonly properties: infer P }
  ? Flat<
      { -readonly [K in keyof P as K extends RequiredOf<S> ? K : never]: FromJsonSchema<P[K]> } & {
        -readonly [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromJsonSchema<P[K]>;
      }
    >
  : S extends { readonly patternProperties: infer P }
    ? Record<string, FromJsonSchema<P[keyof P]>>
    : S extends { readonly additionalProperties: infer V extends object }
      ? Record<string, FromJsonSchema<V>>
      : Record<string, unknown>;

type Flat<T> = { [K in keyof T]: T[K] };

/**
 * The type of a value after it was sent as JSON: dates become strings, functions and `undefined` are removed. @example
 * type Wire = Json<{ at: Date }>;
 */
export type Json<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends { toJSON(): infer J }
      ? Json<J>
      : T extends undefined | symbol | ((...args: never[]) => unknown)
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: Json<T[K]> }
          : T extends object
            ? {
                [K in keyof T as K extends string | number ? ([Json<T[K]>] extends [never] ? never : K) : never]: Json<
                  T[K]
                >;
              }
            : T;

/** The same value as read-only: matches literals. */
export type Frozen<T> = unknown extends T
  ? T
  : T extends string | number | boolean | bigint | symbol | null | undefined | Date | ((...args: never[]) => unknown)
    ? T
    : T extends readonly unknown[]
      ? { readonly [K in keyof T]: Frozen<T[K]> }
      : T extends object
        ? { readonly [K in keyof T]: Frozen<T[K]> }
        : T;
