// node:util/types: determines the type of a value by its tag, independently of its realm. Bundled into workers by
// node-compat.ts.

type Is = (value: unknown) => boolean;

/** `Map` of `[object Map]`. */
function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

const tagged =
  (...tags: string[]): Is =>
  (value) =>
    typeof value === 'object' && value !== null && tags.includes(tagOf(value));
const called =
  (...tags: string[]): Is =>
  (value) =>
    typeof value === 'function' && tags.includes(tagOf(value));
const viewed =
  (tag: string): Is =>
  (value) =>
    ArrayBuffer.isView(value) && (value as unknown as Record<symbol, unknown>)[Symbol.toStringTag] === tag;

export const isAnyArrayBuffer = tagged('ArrayBuffer', 'SharedArrayBuffer');
export const isArgumentsObject = tagged('Arguments');
export const isArrayBuffer = tagged('ArrayBuffer');
export const isArrayBufferView: Is = (value) => ArrayBuffer.isView(value);
export const isAsyncFunction = called('AsyncFunction', 'AsyncGeneratorFunction');
export const isBigIntObject = tagged('BigInt');
export const isBooleanObject = tagged('Boolean');
export const isBoxedPrimitive = tagged('BigInt', 'Boolean', 'Number', 'String', 'Symbol');
export const isCryptoKey = tagged('CryptoKey');
export const isDataView = tagged('DataView');
export const isDate = tagged('Date');
export const isExternal: Is = () => false;
export const isGeneratorFunction = called('GeneratorFunction', 'AsyncGeneratorFunction');
export const isGeneratorObject = tagged('Generator', 'AsyncGenerator');
export const isKeyObject: Is = () => false;
export const isMap = tagged('Map');
export const isMapIterator = tagged('Map Iterator');
export const isModuleNamespaceObject = tagged('Module');
export const isNativeError: Is = (value) => value instanceof Error || tagged('Error', 'DOMException')(value);
export const isNumberObject = tagged('Number');
export const isPromise = tagged('Promise');
export const isProxy: Is = () => false;
export const isRegExp = tagged('RegExp');
export const isSet = tagged('Set');
export const isSetIterator = tagged('Set Iterator');
export const isSharedArrayBuffer = tagged('SharedArrayBuffer');
export const isStringObject = tagged('String');
export const isSymbolObject = tagged('Symbol');
export const isTypedArray: Is = (value) => ArrayBuffer.isView(value) && !isDataView(value);
export const isWeakMap = tagged('WeakMap');
export const isWeakSet = tagged('WeakSet');
export const isBigInt64Array = viewed('BigInt64Array');
export const isBigUint64Array = viewed('BigUint64Array');
export const isFloat32Array = viewed('Float32Array');
export const isFloat64Array = viewed('Float64Array');
export const isInt8Array = viewed('Int8Array');
export const isInt16Array = viewed('Int16Array');
export const isInt32Array = viewed('Int32Array');
export const isUint8Array = viewed('Uint8Array');
export const isUint8ClampedArray = viewed('Uint8ClampedArray');
export const isUint16Array = viewed('Uint16Array');
export const isUint32Array = viewed('Uint32Array');

export default {
  isAnyArrayBuffer,
  isArgumentsObject,
  isArrayBuffer,
  isArrayBufferView,
  isAsyncFunction,
  isBigIntObject,
  isBooleanObject,
  isBoxedPrimitive,
  isCryptoKey,
  isDataView,
  isDate,
  isExternal,
  isGeneratorFunction,
  isGeneratorObject,
  isKeyObject,
  isMap,
  isMapIterator,
  isModuleNamespaceObject,
  isNativeError,
  isNumberObject,
  isPromise,
  isProxy,
  isRegExp,
  isSet,
  isSetIterator,
  isSharedArrayBuffer,
  isStringObject,
  isSymbolObject,
  isTypedArray,
  isWeakMap,
  isWeakSet,
  isBigInt64Array,
  isBigUint64Array,
  isFloat32Array,
  isFloat64Array,
  isInt8Array,
  isInt16Array,
  isInt32Array,
  isUint8Array,
  isUint8ClampedArray,
  isUint16Array,
  isUint32Array,
};
