// DOMException: an Error whose name and message are read-only accessors on the prototype, with a legacy code. The APIs
// of web/ throw it where the standards require it.
import { captureStackTrace, defineConstants, finishInterface, toDictionary, toDomString } from './webidl.ts';

const legacyCodes: Record<string, number> = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
};

// Only Error's own constructor creates an object that V8 treats as an error, but DOMException must not inherit from
// Error. So the private slots are added to a finished error, which is possible because a base class may return any
// object.
class Slotted {
  constructor(target: object) {
    // oxlint-disable-next-line no-constructor-return
    return target;
  }
}

let slotsOf: (error: object) => { name: string; message: string };

class Slots extends Slotted {
  #slots: { name: string; message: string };
  constructor(target: object, name: string, message: string) {
    super(target);
    this.#slots = { name, message };
  }
  static {
    slotsOf = (error) => {
      if (!(#slots in error)) throw new TypeError('Illegal invocation');
      return (error as Slots).#slots;
    };
  }
}

export class DOMException {
  declare readonly stack: string;
  declare readonly cause: unknown;

  constructor(message: unknown = '', nameOrOptions: unknown = 'Error') {
    const text = toDomString(message);
    let name: unknown = nameOrOptions;
    let cause: PropertyDescriptor | undefined;
    if (typeof nameOrOptions === 'object' && nameOrOptions !== null) {
      name = 'name' in nameOrOptions && nameOrOptions.name !== undefined ? nameOrOptions.name : 'Error';
      if ('cause' in nameOrOptions) cause = { value: nameOrOptions.cause, writable: true, configurable: true };
    }
    const error = Reflect.construct(Error, [], new.target) as DOMException;
    new Slots(error, toDomString(name), text);
    captureStackTrace(error, DOMException);
    if (cause !== undefined) Object.defineProperty(error, 'cause', cause);
    // oxlint-disable-next-line no-constructor-return
    return error;
  }

  get name(): string {
    // V8 reads the name while Error's constructor is still running, before the slots exist.
    return slotsOf(this).name;
  }

  get message(): string {
    return slotsOf(this).message;
  }

  get code(): number {
    const { name } = slotsOf(this);
    return Object.hasOwn(legacyCodes, name) ? legacyCodes[name]! : 0;
  }
}

Object.setPrototypeOf(DOMException.prototype, Error.prototype);
finishInterface(DOMException);

const constantNames: Record<string, number> = { DOMSTRING_SIZE_ERR: 2, NO_DATA_ALLOWED_ERR: 6, VALIDATION_ERR: 16 };
for (const [name, code] of Object.entries(legacyCodes)) {
  const stem = name.slice(0, -'Error'.length).replace(/(?<=[a-z])(?=[A-Z])/g, '_');
  constantNames[`${stem.replace('URLMismatch', 'URL_Mismatch').replace('In_Use', 'InUse').toUpperCase()}_ERR`] = code;
}
// The constants are listed in the order of their codes.
defineConstants(
  DOMException,
  Object.fromEntries(Object.entries(constantNames).sort(([, one], [, other]) => one - other)),
);

/** A DOMException for an exceeded limit of an API, which may contain the quota and the requested amount. */
export class QuotaExceededError extends DOMException {
  readonly #quota: number | null;
  readonly #requested: number | null;

  constructor(message: unknown = '', options: unknown = undefined) {
    super(message, 'QuotaExceededError');
    const { quota, requested } = toDictionary(options, 'QuotaExceededError options');
    this.#quota = toAmount(quota, 'quota');
    this.#requested = toAmount(requested, 'requested');
    if (this.#quota !== null && this.#requested !== null && this.#requested < this.#quota)
      throw new RangeError('The request is below the quota');
  }
  get quota(): number | null {
    return this.#quota;
  }
  get requested(): number | null {
    return this.#requested;
  }
}
finishInterface(QuotaExceededError);

function toAmount(value: unknown, what: string): number | null {
  if (value === undefined) return null;
  const amount = Number(value);
  if (!Number.isFinite(amount)) throw new TypeError(`${what} must be a finite number`);
  if (amount < 0) throw new RangeError(`${what} cannot be negative`);
  return amount;
}
