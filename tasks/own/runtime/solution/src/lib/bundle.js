// `skarn bundle FILE -o OUT`: one script of a program and of all that it imports. Each module becomes a function; one of
// ECMAScript's a generator that is run to its beginning (its functions are there then) and later to its end.
const core = need('core');
const modules = need('modules');
const acorn = need('acorn');
const path = need('path');

// Scopes: who means what.
function patternNames(node, out) {
	if (!node) return out;
	switch (node.type) {
	case 'Identifier': out.push(node.name); break;
	case 'ObjectPattern': for (const one of node.properties) patternNames(one.type === 'RestElement' ? one.argument : one.value, out); break;
	case 'ArrayPattern': for (const one of node.elements) patternNames(one, out); break;
	case 'AssignmentPattern': patternNames(node.left, out); break;
	case 'RestElement': patternNames(node.argument, out); break;
	}
	return out;
}
const isFunction = (node) => node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression';
function children(node) {
	const list = [];
	for (const key of Object.keys(node)) {
		const value = node[key];
		if (Array.isArray(value)) for (const one of value) one && typeof one.type === 'string' && list.push([one, key]);
		else if (value && typeof value.type === 'string') list.push([value, key]);
	}
	return list;
}
function varNames(node, out, top) {
	if (!top && isFunction(node)) return;
	if (node.type === 'VariableDeclaration' && node.kind === 'var') for (const one of node.declarations) patternNames(one.id, out);
	for (const [child] of children(node)) varNames(child, out, false);
}
function lexicalNames(statements, out, functions) {
	for (let node of statements) {
		if ((node.type === 'ExportNamedDeclaration' || node.type === 'ExportDefaultDeclaration') && node.declaration) node = node.declaration;
		if (node.type === 'VariableDeclaration' && node.kind !== 'var') for (const one of node.declarations) patternNames(one.id, out);
		else if (node.type === 'ClassDeclaration' && node.id) out.push(node.id.name);
		else if (node.type === 'FunctionDeclaration' && node.id && functions) out.push(node.id.name);
	}
}

// visit(name, node, parent, key) for each name that is none of an inner scope.
function references(root, visit) {
	const walk = (node, scope, parent, key) => {
		const inner = (names) => ({ names: new Set(names), up: scope });
		const all = (list, where, skip) => {
			for (const [child, name] of list) if (name !== skip) walk(child, where, node, name);
		};
		switch (node.type) {
		case 'Identifier': {
			for (let at = scope; at; at = at.up) if (at.names.has(node.name)) return;
			visit(node.name, node, parent, key);
			return;
		}
		case 'MemberExpression':
			walk(node.object, scope, node, 'object');
			if (node.computed) walk(node.property, scope, node, 'property');
			return;
		case 'Property':
			if (node.computed) walk(node.key, scope, node, 'key');
			walk(node.value, scope, node, 'value');
			return;
		case 'MethodDefinition': case 'PropertyDefinition':
			if (node.computed) walk(node.key, scope, node, 'key');
			if (node.value) walk(node.value, scope, node, 'value');
			return;
		case 'LabeledStatement':
			walk(node.body, scope, node, 'body');
			return;
		case 'BreakStatement': case 'ContinueStatement': case 'ImportDeclaration': case 'ExportAllDeclaration': case 'MetaProperty':
			return;
		case 'ExportNamedDeclaration':
			if (node.declaration) walk(node.declaration, scope, node, 'declaration');
			else if (!node.source) for (const one of node.specifiers) walk(one.local, scope, one, 'local');
			return;
		case 'FunctionDeclaration': case 'FunctionExpression': case 'ArrowFunctionExpression': {
			const names = [];
			for (const one of node.params) patternNames(one, names);
			if (node.type !== 'ArrowFunctionExpression') names.push('arguments');
			if (node.type === 'FunctionExpression' && node.id) names.push(node.id.name);
			if (node.body.type === 'BlockStatement') {
				varNames(node.body, names, true);
				lexicalNames(node.body.body, names, true);
			}
			const where = inner(names);
			for (const one of node.params) walk(one, where, node, 'params');
			if (node.body.type === 'BlockStatement') for (const one of node.body.body) walk(one, where, node.body, 'body');
			else walk(node.body, where, node, 'body');
			return;
		}
		case 'ClassDeclaration': case 'ClassExpression': {
			const where = node.id ? inner([node.id.name]) : scope;
			if (node.superClass) walk(node.superClass, where, node, 'superClass');
			walk(node.body, where, node, 'body');
			return;
		}
		case 'StaticBlock': case 'BlockStatement': {
			const names = [];
			if (node.type === 'StaticBlock') varNames(node, names, true);
			lexicalNames(node.body, names, true);
			all(children(node), names.length ? inner(names) : scope);
			return;
		}
		case 'SwitchStatement': {
			walk(node.discriminant, scope, node, 'discriminant');
			const names = [];
			lexicalNames(node.cases.flatMap((one) => one.consequent), names, true);
			const where = inner(names);
			for (const one of node.cases) walk(one, where, node, 'cases');
			return;
		}
		case 'ForStatement': case 'ForInStatement': case 'ForOfStatement': {
			const names = [];
			const first = node.type === 'ForStatement' ? node.init : node.left;
			if (first && first.type === 'VariableDeclaration') lexicalNames([first], names, false);
			all(children(node), names.length ? inner(names) : scope);
			return;
		}
		case 'CatchClause': {
			const where = node.param ? inner(patternNames(node.param, [])) : scope;
			if (node.param) walk(node.param, where, node, 'param');
			walk(node.body, where, node, 'body');
			return;
		}
		default:
			all(children(node), scope);
		}
	};
	walk(root, null, null, null);
}
function each(node, visit) {
	visit(node);
	for (const [child] of children(node)) each(child, visit);
}

// What may be left out when nobody asks for it.
function isPure(node) {
	if (!node) return true;
	switch (node.type) {
	case 'Literal': case 'FunctionExpression': case 'ArrowFunctionExpression': return true;
	case 'TemplateLiteral': return node.expressions.length === 0;
	case 'UnaryExpression': return node.operator !== 'delete' && node.argument.type === 'Literal';
	case 'ArrayExpression': return node.elements.every((one) => one === null || isPure(one));
	case 'ObjectExpression': return node.properties.every((one) => one.type === 'Property' && !one.computed && isPure(one.value));
	case 'ClassExpression': case 'ClassDeclaration':
		return !node.superClass && node.body.body.every((one) => one.type !== 'StaticBlock' && !one.computed &&
			(one.type === 'MethodDefinition' || !one.static || isPure(one.value)));
	default: return false;
	}
}
function isRemovable(node) {
	if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') return node.type === 'FunctionDeclaration' || isPure(node);
	if (node.type === 'VariableDeclaration') return node.declarations.every((one) => one.id.type === 'Identifier' && isPure(one.init));
	return false;
}

const options = { ecmaVersion: 'latest', allowHashBang: true, locations: false };
const table = new Map();
let order = [];
const keyName = (name) => JSON.stringify(name);

function moduleOf(key) {
	const there = table.get(key);
	if (there) return there;
	const module = { id: table.size, key, imports: [], deps: [] };
	table.set(key, module);
	order.push(module);
	if (key.startsWith('node:')) {
		module.kind = 'builtin';
		module.name = key === 'node:test' ? key : key.slice(5);
		return module;
	}
	const file = key.startsWith('file:') ? modules.toFile(key) : key;
	module.file = file;
	let format = path.extname(file) === '.json' ? 'json' : modules.formatOf(file);
	let text = modules.readText(file);
	if (modules.isTyped(file)) {
		text = need('types').strip(text, file);
		if (format === 'commonjs' && file.endsWith('.ts') && /^[ \t]*(?:import\b(?!\s*\()|export\b)/m.test(text)) format = 'module';
	}
	if (text.startsWith('#!')) text = '//' + text;
	module.text = text;
	if (format === 'json') {
		module.kind = 'json';
		JSON.parse(text);
	} else if (format === 'module') readModule(module);
	else readCommon(module);
	return module;
}

function readCommon(module) {
	module.kind = 'common';
	module.requests = {};
	module.edits = [];
	let tree;
	try {
		tree = acorn.parse(module.text, { ...options, sourceType: 'script', allowReturnOutsideFunction: true, allowSuperOutsideMethod: false });
	} catch (error) {
		throw Object.assign(new SyntaxError(`${module.file}: ${error.message}`), {});
	}
	const found = [];
	each(tree, (node) => {
		if (node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === 'require' && node.arguments.length >= 1) {
			const text = literal(node.arguments[0]);
			if (text !== null) found.push(text);
		} else if (node.type === 'ImportExpression') dynamic(module, node);
	});
	for (const request of found) {
		if (Object.hasOwn(module.requests, request)) continue;
		let target;
		try {
			target = modules.resolveRequire(request, module.file);
		} catch {
			continue;
		}
		if (modules.builtinName(target)) continue;
		if (path.extname(target) !== '.json' && modules.formatOf(target) === 'module') {
			module.requests[request] = -1;
			continue;
		}
		module.requests[request] = moduleOf(commonKey(target)).id;
	}
	module.names = [...modules.allNames(module.file)].filter((name) => name !== 'default');
}
const commonKey = (file) => modules.toUrl(file);
function literal(node) {
	if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
	if (node.type === 'TemplateLiteral' && node.expressions.length === 0) return node.quasis[0].value.cooked;
	return null;
}
// import() of what is known here
function dynamic(module, node) {
	const request = literal(node.source);
	if (request === null) return;
	let key;
	try {
		key = modules.resolveImport(module.key, request);
	} catch {
		return;
	}
	if (key.startsWith('node:')) return;
	const target = moduleOf(key);
	target.whole = true;
	(module.later = module.later || []).push(target);
	module.edits.push([node.start, node.end, () => `${R}i(${target.id})`]);
}

function readModule(module) {
	module.kind = 'module';
	module.edits = [];
	let tree;
	try {
		tree = acorn.parse(module.text, { ...options, sourceType: 'module' });
	} catch (error) {
		throw new SyntaxError(`${module.file}: ${error.message}`);
	}
	module.tree = tree;
	module.bindings = new Map();
	module.exports = new Map();
	module.stars = [];
	module.eval = false;
	const dep = (source) => {
		const target = moduleOf(modules.resolveImport(module.key, source.value));
		if (!module.deps.includes(target)) module.deps.push(target);
		return target;
	};
	const name = (node) => (node.type === 'Identifier' ? node.name : node.value);
	for (const node of tree.body) {
		if (node.type === 'ImportDeclaration') {
			const target = dep(node.source);
			for (const one of node.specifiers)
				module.bindings.set(one.local.name, {
					target, name: one.type === 'ImportNamespaceSpecifier' ? null : one.type === 'ImportDefaultSpecifier' ? 'default' : name(one.imported),
				});
		} else if (node.type === 'ExportAllDeclaration') {
			const target = dep(node.source);
			if (node.exported) module.exports.set(name(node.exported), { target, name: null });
			else module.stars.push(target);
		} else if (node.type === 'ExportNamedDeclaration' && node.source) {
			const target = dep(node.source);
			for (const one of node.specifiers) module.exports.set(name(one.exported), { target, name: name(one.local) });
		}
	}
	for (const node of tree.body) {
		if (node.type === 'ExportNamedDeclaration' && !node.source) {
			if (node.declaration) {
				const names = [];
				if (node.declaration.type === 'VariableDeclaration') for (const one of node.declaration.declarations) patternNames(one.id, names);
				else names.push(node.declaration.id.name);
				for (const one of names) module.exports.set(one, { local: one });
			} else for (const one of node.specifiers) {
				const local = name(one.local), bound = module.bindings.get(local);
				module.exports.set(name(one.exported), bound ? { target: bound.target, name: bound.name } : { local });
			}
		} else if (node.type === 'ExportDefaultDeclaration') {
			const { declaration } = node;
			module.exports.set('default', { local: declaration.id && /Declaration$/.test(declaration.type) ? declaration.id.name : `${R}d` });
		}
	}
	each(tree, (node) => {
		if (node.type === 'ImportExpression') dynamic(module, node);
		else if (node.type === 'MetaProperty' && node.meta.name === 'import') module.edits.push([node.start, node.end, () => `${R}m(${keyName(path.basename(module.file))})`]);
	});
}

// Where an export comes from: { module, local } or { module, name } of what is no module of ours; null if there is none.
function resolve(module, name, seen = new Set()) {
	if (module.kind !== 'module') {
		if (name === 'default') return { module, name };
		if (module.kind === 'json') return null;
		if (module.kind === 'common') return module.names.includes(name) ? { module, name } : null;
		return { module, name };
	}
	const mark = `${module.id} ${name}`;
	if (seen.has(mark)) return null;
	seen.add(mark);
	const own = module.exports.get(name);
	if (own) {
		if (own.local !== undefined) return { module, local: own.local };
		if (own.name === null) return { module: own.target, space: true };
		return resolve(own.target, own.name, seen);
	}
	if (name === 'default') return null;
	let found = null;
	for (const star of module.stars) {
		if (star.kind === 'builtin' && !builtinHas(star, name)) continue;
		const one = resolve(star, name, seen);
		if (!one) continue;
		if (found && (found.module !== one.module || found.local !== one.local || found.name !== one.name)) return null;
		found = one;
	}
	return found;
}
const builtinKeys = (module) => Object.keys(modules.Module._load(module.name === 'node:test' ? module.name : `node:${module.name}`, null));
const builtinHas = (module, name) => builtinKeys(module).includes(name);
function namesOf(module, seen = new Set()) {
	if (seen.has(module)) return [];
	seen.add(module);
	if (module.kind === 'json') return ['default'];
	if (module.kind === 'common') return ['default', ...module.names];
	if (module.kind === 'builtin') return ['default', ...builtinKeys(module)];
	const names = new Set(module.exports.keys());
	for (const star of module.stars) for (const name of namesOf(star, seen)) if (name !== 'default') names.add(name);
	return [...names].filter((name) => resolve(module, name));
}

let R = '$';

// What is needed, beginning at what has effects.
function shake(entry) {
	const queue = [];
	const wantLocal = (module, name) => {
		const statement = module.declares.get(name);
		if (statement !== undefined) wantStatement(module, statement);
	};
	const wantStatement = (module, index) => {
		if (module.wanted.has(index)) return;
		module.wanted.add(index);
		queue.push([module, index]);
	};
	const wantExport = (module, name) => {
		const found = resolve(module, name);
		if (!found)
			throw new SyntaxError(`The requested module '${module.file || module.name}' does not provide an export named '${name}'`);
		if (found.space) wantAll(found.module);
		else if (found.local !== undefined) {
			found.module.used.add(found.local);
			wantLocal(found.module, found.local);
		}
	};
	const wantAll = (module) => {
		if (module.all) return;
		module.all = true;
		if (module.kind === 'module') for (const name of namesOf(module)) wantExport(module, name);
	};
	for (const module of order) {
		if (module.kind !== 'module') continue;
		module.wanted = new Set();
		module.used = new Set();
		module.declares = new Map();
		module.tree.body.forEach((node, index) => {
			const inner = node.type === 'ExportNamedDeclaration' && node.declaration ? node.declaration : node;
			if (node.type === 'ExportDefaultDeclaration') {
				const { declaration } = node;
				module.declares.set(declaration.id && /Declaration$/.test(declaration.type) ? declaration.id.name : `${R}d`, index);
			} else if (inner.type === 'VariableDeclaration') for (const one of inner.declarations) for (const name of patternNames(one.id, [])) module.declares.set(name, index);
			else if ((inner.type === 'FunctionDeclaration' || inner.type === 'ClassDeclaration') && inner.id) module.declares.set(inner.id.name, index);
			else {
				const names = [];
				varNames(inner, names, true);
				for (const name of names) module.declares.set(name, index);
			}
		});
		module.refs = module.tree.body.map((node) => {
			const list = [];
			if (node.type !== 'ImportDeclaration' && !(node.type === 'ExportNamedDeclaration' && !node.declaration))
				references(node, (name, at, parent, key) => list.push([name, at, parent, key]));
			if (list.some(([name, , parent, key]) => name === 'eval' && parent.type === 'CallExpression' && key === 'callee')) module.eval = true;
			return list;
		});
	}
	for (const module of order) {
		if (module.kind !== 'module') continue;
		// Each import has to be there, used or not.
		for (const { target, name } of module.bindings.values())
			if (name !== null && !resolve(target, name))
				throw new SyntaxError(`The requested module '${target.file || target.name}' does not provide an export named '${name}'`);
		for (const [, one] of module.exports)
			if (one.target && one.name !== null && !resolve(one.target, one.name))
				throw new SyntaxError(`The requested module '${one.target.file || one.target.name}' does not provide an export named '${one.name}'`);
		module.tree.body.forEach((node, index) => {
			if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return;
			if (node.type === 'ExportNamedDeclaration' && !node.declaration) return;
			const inner = node.type === 'ExportNamedDeclaration' || node.type === 'ExportDefaultDeclaration' ? node.declaration : node;
			const removable = node.type === 'ExportDefaultDeclaration' && !/Declaration$/.test(inner.type) ? isPure(inner) : isRemovable(inner);
			if (!removable || module.eval) wantStatement(module, index);
		});
		if (module.eval || (module.whole && module !== entry)) wantAll(module);
	}
	while (queue.length) {
		const [module, index] = queue.pop();
		for (const [name, at, parent, key] of module.refs[index]) {
			const bound = module.bindings.get(name);
			if (!bound) wantLocal(module, name);
			else if (bound.name !== null) wantExport(bound.target, bound.name);
			else if (parent && parent.type === 'MemberExpression' && key === 'object' && !parent.computed && bound.target.kind === 'module' &&
				resolve(bound.target, parent.property.name) && !resolve(bound.target, parent.property.name).space) wantExport(bound.target, parent.property.name);
			else wantAll(bound.target);
		}
	}
	for (const module of order) if (module.later) for (const target of module.later) if (target.kind === 'module') wantAll(target);
}

function writeModule(module) {
	const { text, tree } = module;
	const edits = module.edits.map(([start, end, make]) => [start, end, make()]);
	const space = (target) => `${R}${target.id}`;
	const access = (target, name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? `${space(target)}.${name}` : `${space(target)}[${keyName(name)}]`);
	const late = [];
	tree.body.forEach((node, index) => {
		if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration' || (node.type === 'ExportNamedDeclaration' && !node.declaration) ||
			!module.wanted.has(index)) {
			edits.push([node.start, node.end, ';', true]);
			return;
		}
		if (node.type === 'ExportNamedDeclaration') edits.push([node.start, node.declaration.start, '']);
		else if (node.type === 'ExportDefaultDeclaration') {
			const { declaration } = node;
			if (/Declaration$/.test(declaration.type) && declaration.id) edits.push([node.start, declaration.start, '']);
			else if (declaration.type === 'FunctionDeclaration') {
				const head = text.slice(declaration.start, declaration.params.length ? declaration.params[0].start : declaration.end);
				const place = declaration.start + head.indexOf('(');
				edits.push([node.start, declaration.start, '']);
				edits.push([place, place, ` ${R}d`]);
				late.push(`${R}n(${R}d);`);
			} else {
				edits.push([node.start, declaration.start, `const ${R}d={default:`]);
				const end = text.slice(declaration.end, node.end);
				edits.push([declaration.end, node.end, `${end.replace(/;\s*$/, '')}}.default;`]);
			}
		}
		for (const [name, at, parent, key] of module.refs[index]) {
			const bound = module.bindings.get(name);
			if (!bound) continue;
			const value = bound.name === null ? space(bound.target) : access(bound.target, bound.name);
			if (parent && parent.type === 'Property' && parent.shorthand) edits.push([at.start, at.end, `${name}:${value}`]);
			else if (bound.name !== null && parent && ((parent.type === 'CallExpression' && key === 'callee') ||
				(parent.type === 'TaggedTemplateExpression' && key === 'tag'))) edits.push([at.start, at.end, `${R}c(${value})`]);
			else edits.push([at.start, at.end, value]);
		}
	});
	const names = namesOf(module).sort((a, b) => (a < b ? -1 : 1));
	const getters = [];
	for (const name of names) {
		const own = resolve(module, name);
		const needed = module.all || (own.local !== undefined && own.module === module && module.used.has(own.local)) || usedThrough(module, name);
		if (!needed) continue;
		if (own.space) getters.push(`${keyName(name)}:()=>${space(own.module)}`);
		else if (own.local !== undefined && own.module === module) getters.push(`${keyName(name)}:()=>${own.local}`);
		else if (own.local !== undefined) getters.push(`${keyName(name)}:()=>${access(own.module, exportOf(own))}`);
		else getters.push(`${keyName(name)}:()=>${access(own.module, own.name)}`);
	}
	const targets = new Set([...module.deps]);
	for (const name of names) {
		const own = resolve(module, name);
		if (own.module !== module) targets.add(own.module);
	}
	const head = [...targets].map((one) => `const ${space(one)}=${R}s(${one.id});`).join('');
	return `function*(){"use strict";${head}${R}e(${module.id},{${getters.join(',')}});${late.join('')}yield;\n${apply(text, edits)}\n}`;
}
// The name by which another module exports one of its own.
function exportOf(own) {
	for (const [name, one] of own.module.exports) if (one.local === own.local) return name;
	return own.local;
}
function usedThrough(module, name) {
	const own = resolve(module, name);
	if (own.space) return true;
	return own.local === undefined || own.module.used.has(own.local);
}
function apply(text, edits) {
	edits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	let out = '', at = 0;
	for (const [start, end, value, whole] of edits) {
		if (start < at) continue;
		out += text.slice(at, start) + value;
		at = end;
		if (whole) out += '';
	}
	return out + text.slice(at);
}

// What stands before the modules in the script.
const runtime = `
var @t = {}, @q = typeof require === 'function' ? require : null;
function @x(code, text) { var e = new Error(text); e.code = code; return e; }
function @s(id) {
  var m = @t[id];
  if (!m.ns) {
    m.ns = Object.create(null);
    Object.defineProperty(m.ns, Symbol.toStringTag, { value: 'Module' });
    if (m.k !== 'e') {
      m.v = {};
      m.n.forEach(function (name) {
        Object.defineProperty(m.ns, name, { enumerable: true, get: function () { return m.v[name]; } });
      });
    }
  }
  return m.ns;
}
function @e(id, all) {
  var ns = @s(id);
  Object.keys(all).forEach(function (name) { Object.defineProperty(ns, name, { enumerable: true, get: all[name] }); });
  Object.preventExtensions(ns);
}
function @c(f) { return f; }
function @n(f) { Object.defineProperty(f, 'name', { value: 'default', configurable: true }); }
function @l(id) {
  var m = @t[id];
  if (m.l) return;
  m.l = true;
  @s(id);
  if (m.k !== 'e') return;
  m.d.forEach(@l);
  m.g = m.f.call(undefined);
  m.g.next();
}
function @g(id) {
  var m = @t[id];
  if (m.err) throw m.err[0];
  if (m.on) return;
  m.on = true;
  try {
    if (m.k === 'e') {
      for (var i = 0; i < m.d.length; i++) @g(m.d[i]);
      m.g.next();
    } else {
      var value = m.k === 'b' ? @q(m.b) : @r(id);
      m.n.forEach(function (name) {
        m.v[name] = name === 'default' ? value : value == null ? undefined : value[name];
      });
    }
  } catch (e) {
    m.err = [e];
    throw e;
  }
}
function @i(id) {
  // Late enough for a handler to be there: qjs ends where there is none yet.
  return Promise.resolve().then(@c).then(@c).then(@c).then(function () { @l(id); @g(id); return @s(id); });
}
function @m(name) {
  return { url: @q && typeof __filename === 'string' ? @q('url').pathToFileURL(__filename).href : 'file:///' + name };
}
function @o(id, main) {
  var m = @t[id];
  var own = function require(request) {
    if (Object.prototype.hasOwnProperty.call(m.r, request)) {
      if (m.r[request] < 0) throw @x('ERR_REQUIRE_ESM', 'require() of ES Module ' + request + ' not supported.');
      return @r(m.r[request]);
    }
    if (@q) return @q(request);
    throw @x('MODULE_NOT_FOUND', "Cannot find module '" + request + "'");
  };
  own.resolve = @q ? @q.resolve : function (request) { return request; };
  own.cache = @q ? @q.cache : {};
  own.main = @w || (@q ? @q.main : undefined);
  return own;
}
var @w;
function @r(id) {
  var m = @t[id];
  if (m.c) return m.c.exports;
  var module = m.c = { exports: {}, id: m.p, filename: m.p, loaded: false, children: [], paths: [] };
  if (id === 0) { @w = module; module.id = '.'; }
  var done = false;
  try {
    if (m.k === 'j') module.exports = JSON.parse(m.j);
    else {
      module.require = @o(id);
      m.f.call(module.exports, module.exports, module.require, module,
        typeof __filename === 'string' ? __filename : m.p, typeof __dirname === 'string' ? __dirname : '.');
    }
    done = true;
  } finally {
    if (!done) m.c = null;
  }
  module.loaded = true;
  return module.exports;
}
`;

exports.command = async (args, prefix = '$skarn') => {
	let entry, out;
	for (let i = 0; i < args.length; i++) {
		if (args[i] === '-o') out = args[++i];
		else if (args[i].startsWith('-o')) out = args[i].slice(2);
		else entry = args[i];
	}
	if (!entry || !out) {
		core.writeAll(2, 'skarn bundle FILE -o OUT\n');
		core.process.exitCode = 1;
		return;
	}
	const file = sys.realpath_(path.resolve(entry));
	if (typeof file === 'number') throw need('errors').system(file, 'open', entry);
	// A name that nobody else has.
	R = prefix;
	const first = moduleOf(modules.toUrl(file));
	if (order.some((module) => module.text && module.text.includes(R))) {
		let number = 0;
		do R = `$skarn${number++}_`;
		while (order.some((module) => module.text && module.text.includes(R)));
		table.clear();
		order = [];
		return exports.command(args, R);
	}
	shake(first);
	const parts = [];
	for (const module of order) {
		let body;
		const names = () => `n:${JSON.stringify(module.kind === 'module' ? [] : namesOf(module).sort())}`;
		if (module.kind === 'module') body = `k:'e',d:${JSON.stringify(module.deps.map((one) => one.id))},f:${writeModule(module)}`;
		else if (module.kind === 'builtin') body = `k:'b',b:${JSON.stringify(module.name)},${names()}`;
		else if (module.kind === 'json') body = `k:'j',${names()},p:${JSON.stringify(path.basename(module.file))},j:${JSON.stringify(JSON.stringify(JSON.parse(module.text)))}`;
		else {
			const text = apply(module.text, module.edits.map(([start, end, make]) => [start, end, make()]));
			body = `k:'c',${names()},p:${JSON.stringify(path.basename(module.file))},r:${JSON.stringify(module.requests)},f:function(exports,require,module,__filename,__dirname){${text}\n}`;
		}
		parts.push(`${R}t[${module.id}]={${body}};`);
	}
	const start = first.kind === 'module' ? `Promise.resolve().then(function(){${R}l(0);${R}g(0);});` : `${R}r(0);`;
	const text = `(function () {${runtime.replaceAll('@', () => R)}\n${parts.join('\n')}\n${start}\n})();\n`;
	need('fs').writeFileSync(out, text);
};
