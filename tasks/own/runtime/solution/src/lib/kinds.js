// What kind of object something is, by the engine's classes, which no program can feign.
const id = (value) => sys.classOf(value);
const args = id((function () { return arguments; })());
const sloppy = id(Function('return arguments')());
const classes = {
	array: id([]), number: id(Object(1)), string: id(Object('')), boolean: id(Object(true)), symbol: id(Object(Symbol())),
	bigint: id(Object(1n)), date: id(new Date(0)), regexp: id(/a/), buffer: id(new ArrayBuffer(0)),
	shared: id(new SharedArrayBuffer(0)), view: id(new DataView(new ArrayBuffer(1))), map: id(new Map()), set: id(new Set()),
	weakMap: id(new WeakMap()), weakSet: id(new WeakSet()), mapIterator: id(new Map().entries()),
	setIterator: id(new Set().values()), error: id(new Error()), promise: id(Promise.resolve()), proxy: id(new Proxy({}, {})),
	generator: id((function* () {})()), weakRef: id(new WeakRef({})),
	generatorFunction: id(function* () {}), asyncFunction: id(async () => {}), asyncGeneratorFunction: id(async function* () {}),
	asyncGenerator: id((async function* () {})()),
};
const typed = new Map([
	Uint8Array, Uint8ClampedArray, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array,
	BigInt64Array, BigUint64Array,
].map((Type) => [id(new Type(0)), Type.name]));
exports.classes = classes;
exports.id = id;
exports.typedName = (value) => typed.get(id(value));

const is = (name) => (value) => id(value) === classes[name];
exports.types = {
	isDate: is('date'), isRegExp: is('regexp'), isMap: is('map'), isSet: is('set'), isWeakMap: is('weakMap'),
	isWeakSet: is('weakSet'), isMapIterator: is('mapIterator'), isSetIterator: is('setIterator'), isPromise: is('promise'),
	isProxy: is('proxy'), isArrayBuffer: is('buffer'), isSharedArrayBuffer: is('shared'), isDataView: is('view'),
	isAnyArrayBuffer: (value) => id(value) === classes.buffer || id(value) === classes.shared,
	isNativeError: is('error'),
	isNumberObject: is('number'), isStringObject: is('string'), isBooleanObject: is('boolean'), isSymbolObject: is('symbol'),
	isBigIntObject: is('bigint'),
	isBoxedPrimitive: (value) => [classes.number, classes.string, classes.boolean, classes.symbol, classes.bigint].includes(id(value)),
	isTypedArray: (value) => typed.has(id(value)),
	isArrayBufferView: (value) => ArrayBuffer.isView(value),
	isArgumentsObject: (value) => id(value) === args || id(value) === sloppy,
	isGeneratorObject: (value) => id(value) === classes.generator || id(value) === classes.asyncGenerator,
	isGeneratorFunction: (value) => id(value) === classes.generatorFunction || id(value) === classes.asyncGeneratorFunction,
	isAsyncFunction: (value) => id(value) === classes.asyncFunction || id(value) === classes.asyncGeneratorFunction,
	isModuleNamespaceObject: (value) => typeof value === 'object' && value !== null &&
		Object.prototype.toString.call(value) === '[object Module]' && Object.getPrototypeOf(value) === null,
	isExternal: () => false,
};
for (const name of new Set(typed.values())) exports.types['is' + name] = (value) => exports.typedName(value) === name;
