// TypeScript with its types made blank: a parser that knows where types stand, and skips them.
const acorn = need('acorn');
const tt = acorn.tokTypes;
const DECLARED = new Set(['const', 'let', 'var', 'function', 'class', 'abstract', 'enum', 'type', 'interface', 'global', 'namespace', 'module', 'async']);
const MODIFIERS = new Set(['public', 'private', 'protected', 'readonly', 'override', 'abstract', 'declare', 'accessor']);

const Typed = (Base) => class extends Base {
	constructor(...given) {
		super(...given);
		this.blanks = [];
		this.conditional = 0;
	}

	// -- places to go back to ---------------------------------------------------------------------
	mark() {
		const kept = { ...this };
		kept.context = this.context.slice();
		kept.scopes = this.scopeStack.map((scope) => ({ scope, copy: { ...scope, var: scope.var.slice(), lexical: scope.lexical.slice(), functions: scope.functions.slice() } }));
		kept.scopeStack = this.scopeStack.slice();
		kept.blankCount = this.blanks.length;
		kept.labels = this.labels.slice();
		return kept;
	}
	back(kept) {
		const { blankCount, scopes, ...rest } = kept;
		Object.assign(this, rest);
		this.context = kept.context.slice();
		this.scopeStack = kept.scopeStack.slice();
		for (const { scope, copy } of scopes) Object.assign(scope, copy);
		this.blanks.length = blankCount;
	}
	attempt(parse) {
		const kept = this.mark();
		try {
			const found = parse();
			if (found !== undefined) return found;
		} catch (error) {
			if (!(error instanceof SyntaxError) || error.final) throw error;
		}
		this.back(kept);
		return undefined;
	}
	blank(start, end = this.lastTokEnd) {
		if (end > start) this.blanks.push([start, end]);
	}
	never(at, what) {
		const error = new SyntaxError(`TypeScript's ${what} is more than a type (${at})`);
		error.code = 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX';
		error.final = true;
		throw error;
	}
	lineAbove() {
		return /[\n\r\u2028\u2029]/.test(this.input.slice(this.lastTokEnd, this.start));
	}
	word(name) {
		return this.isContextual(name);
	}
	peek() {
		return this.attempt2(() => {
			this.next();
			return { type: this.type, value: this.value, line: this.lineAbove(), start: this.start };
		});
	}
	attempt2(look) {
		const kept = this.mark();
		try {
			return look();
		} catch {
			return { type: tt.eof, value: undefined, line: true, start: this.start };
		} finally {
			this.back(kept);
		}
	}
	less() {
		return (this.type === tt.relational || this.type === tt.bitShift) && this.value[0] === '<';
	}
	open() {
		// `<<` would begin two lists.
		if (this.value !== '<') this.again();
		else this.next();
	}
	again() {
		this.lastTokEnd = this.start + 1;
		this.lastTokStart = this.start;
		this.pos = this.start + 1;
		this.exprAllowed = false;
		this.nextToken();
	}
	close() {
		if (this.type !== tt.relational && this.type !== tt.bitShift || this.value[0] !== '>') this.unexpected();
		if (this.value === '>') {
			this.exprAllowed = false;
			this.next();
			return;
		}
		this.again();
	}

	// -- types -------------------------------------------------------------------------------------
	balanced() {
		// A bracket with all that is in it.
		let depth = 0;
		do {
			if (this.type === tt.eof) this.unexpected();
			if (this.type === tt.parenL || this.type === tt.braceL || this.type === tt.bracketL || this.type === tt.dollarBraceL) depth++;
			if (this.type === tt.parenR || this.type === tt.braceR || this.type === tt.bracketR) {
				depth--;
				this.exprAllowed = false;
				if (depth === 0) {
					this.next();
					this.context.length = Math.max(1, this.context.length);
					return;
				}
			}
			this.next();
		} while (depth > 0);
	}
	braces() {
		// `{…}` of a type: members as they come, so that the tokenizer keeps its context.
		this.expect(tt.braceL);
		let depth = 1;
		while (depth > 0) {
			if (this.type === tt.eof) this.unexpected();
			if (this.type === tt.backQuote) {
				this.template();
				continue;
			}
			if (this.type === tt.braceL || this.type === tt.parenL || this.type === tt.bracketL) depth++;
			if (this.type === tt.braceR || this.type === tt.parenR || this.type === tt.bracketR) depth--;
			this.exprAllowed = false;
			this.next();
		}
	}
	template() {
		this.next();
		while (this.type !== tt.backQuote) {
			if (this.type === tt.dollarBraceL) {
				this.next();
				this.ofType();
				if (this.type !== tt.braceR) this.unexpected();
			}
			this.next();
		}
		this.next();
	}
	ofTypes() {
		this.open();
		while (!(this.type === tt.relational || this.type === tt.bitShift) || this.value[0] !== '>') {
			this.ofType();
			if (this.type !== tt.comma) break;
			this.next();
		}
		this.close();
	}
	parameters() {
		// `<const T extends X = Y, in out U>`
		this.open();
		while (this.type === tt.name || this.type === tt._const || this.type === tt._in) {
			while ((this.type === tt._const || this.type === tt._in || this.word('out')) && this.peek().type !== tt.comma && !(this.peek().type === tt.relational)) this.next();
			this.next();
			if (this.type === tt._extends) {
				this.next();
				this.ofType();
			}
			if (this.type === tt.eq) {
				this.next();
				this.ofType();
			}
			if (this.type !== tt.comma) break;
			this.next();
		}
		this.close();
	}
	ofType() {
		this.simple();
		if (this.type === tt._extends && !this.lineAbove() && !this.inferring) {
			this.next();
			const before = this.inferring;
			this.inferring = true;
			this.simple();
			this.inferring = before;
			this.expect(tt.question);
			this.ofType();
			this.expect(tt.colon);
			this.ofType();
		}
	}
	simple() {
		if (this.type === tt.bitwiseOR || this.type === tt.bitwiseAND) this.next();
		for (;;) {
			this.operand();
			if (this.type !== tt.bitwiseOR && this.type !== tt.bitwiseAND) return;
			this.next();
		}
	}
	operand() {
		if (this.type === tt._new || this.word('abstract') && this.peek().type === tt._new) {
			if (this.type !== tt._new) this.next();
			this.next();
			return this.ofFunction();
		}
		if (this.less()) return this.ofFunction();
		if (this.type === tt.parenL) {
			const done = this.attempt(() => {
				this.ofFunction();
				return true;
			});
			if (done) return;
			this.next();
			const before = this.inferring;
			this.inferring = false;
			this.ofType();
			this.inferring = before;
			this.exprAllowed = false;
			this.expect(tt.parenR);
		} else if (this.type === tt.braceL) {
			this.braces();
		} else if (this.type === tt.bracketL) {
			this.tuple();
		} else if (this.type === tt.backQuote) {
			this.template();
		} else if (this.type === tt.plusMin) {
			this.next();
			this.next();
		} else if (this.type === tt._typeof) {
			this.next();
			if (this.type === tt._import) this.imported();
			else this.named();
		} else if (this.type === tt._import) {
			this.imported();
		} else if (this.type === tt.num || this.type === tt.string || this.type === tt._null || this.type === tt._true || this.type === tt._false || this.type === tt._void || this.type === tt._this) {
			const self = this.type === tt._this;
			this.next();
			if (self && this.word('is') && !this.lineAbove()) {
				this.next();
				this.ofType();
				return;
			}
		} else if (this.type === tt.name) {
			const after = this.peek();
			const begins = !after.line && (after.type === tt.name || after.type === tt.braceL || after.type === tt.parenL || after.type === tt.bracketL || after.type === tt._this || after.type === tt._typeof || after.type === tt._void || after.type === tt.string || after.type === tt._null);
			if (['keyof', 'unique', 'readonly'].includes(this.value) && begins) {
				this.next();
				return this.operand();
			}
			if (this.value === 'infer' && begins) {
				this.next();
				this.next();
				if (this.type === tt._extends) {
					const done = this.attempt(() => {
						this.next();
						this.simple();
						return this.type !== tt.question ? true : undefined;
					});
					void done;
				}
				return;
			}
			if (this.value === 'asserts' && !after.line && (after.type === tt.name && after.value !== 'is' || after.type === tt._this)) {
				this.next();
				this.next();
				if (this.word('is')) {
					this.next();
					this.ofType();
				}
				return;
			}
			if (after.type === tt.name && after.value === 'is' && !after.line) {
				this.next();
				this.next();
				return this.ofType();
			}
			this.named();
		} else {
			this.unexpected();
		}
		while (this.type === tt.bracketL && !this.lineAbove()) {
			this.next();
			if (this.type !== tt.bracketR) this.ofType();
			this.exprAllowed = false;
			this.expect(tt.bracketR);
		}
	}
	named() {
		this.next();
		while (this.type === tt.dot) {
			this.next();
			this.next();
		}
		if (this.less() && !this.lineAbove()) this.ofTypes();
	}
	imported() {
		this.next();
		this.balanced();
		while (this.type === tt.dot) {
			this.next();
			this.next();
		}
		if (this.less()) this.ofTypes();
	}
	tuple() {
		this.next();
		const before = this.inferring;
		this.inferring = false;
		while (this.type !== tt.bracketR) {
			if (this.type === tt.ellipsis) this.next();
			const label = this.attempt(() => {
				if (this.type !== tt.name) return undefined;
				this.next();
				if (this.type === tt.question) this.next();
				if (this.type !== tt.colon) return undefined;
				this.next();
				return true;
			});
			void label;
			this.ofType();
			if (this.type === tt.question) this.next();
			if (this.type !== tt.comma) break;
			this.next();
		}
		this.inferring = before;
		this.exprAllowed = false;
		this.expect(tt.bracketR);
	}
	ofFunction() {
		if (this.less()) this.parameters();
		if (this.type !== tt.parenL) this.unexpected();
		const before = this.inferring;
		this.inferring = false;
		this.signature();
		this.inferring = before;
		this.expect(tt.arrow);
		this.ofType();
	}
	signature() {
		// Parameters of a type: patterns with their types.
		const count = this.blanks.length;
		this.expect(tt.parenL);
		this.parseBindingList(tt.parenR, false, true);
		this.blanks.length = count;
	}
	annotation() {
		const start = this.start;
		this.expect(tt.colon);
		const before = this.inferring;
		this.inferring = false;
		this.ofType();
		this.inferring = before;
		this.blank(start);
	}

	// -- patterns and functions ---------------------------------------------------------------------
	declareName() {}
	checkLocalExport() {}
	checkExport() {}
	parseBindingAtom() {
		const node = super.parseBindingAtom();
		if (this.inParameters && this.type === tt.question) {
			const start = this.start;
			this.next();
			this.blank(start);
		}
		if (this.type === tt.colon && this.annotated !== false) {
			const before = this.inParameters;
			this.inParameters = false;
			this.annotation();
			this.inParameters = before;
		}
		return node;
	}
	parseObj(isPattern, errors) {
		const before = [this.inParameters, this.annotated, this.conditional];
		this.inParameters = false;
		this.conditional = 0;
		const node = super.parseObj(isPattern, errors);
		[this.inParameters, this.annotated, this.conditional] = before;
		return node;
	}
	parseBindingList(close, allowEmpty, allowTrailing) {
		const before = this.inParameters;
		this.inParameters = close === tt.parenR;
		if (close === tt.parenR && this.type === tt._this) {
			const start = this.start;
			this.next();
			if (this.type === tt.colon) {
				this.next();
				this.ofType();
			}
			if (this.type === tt.comma) this.next();
			this.blank(start);
		}
		if (close === tt.parenR && this.inConstructor && this.type === tt.name && MODIFIERS.has(this.value)) {
			const after = this.peek();
			if (after.type === tt.name) this.never(this.start, 'parameter property');
		}
		const found = super.parseBindingList(close, allowEmpty, allowTrailing);
		this.inParameters = before;
		return found;
	}
	parseBindingListItem(node) {
		// Between the parameters: modifiers of the next are found where it begins.
		if (this.inParameters && this.type === tt.question) {
			const start = this.start;
			this.next();
			this.blank(start);
		}
		if (this.inParameters && this.type === tt.colon) this.annotation();
		return super.parseBindingListItem(node);
	}
	parseMaybeDefault(start, place, left) {
		if (this.inConstructor && this.inParameters && this.type === tt.name && MODIFIERS.has(this.value) && this.peek().type === tt.name) this.never(this.start, 'parameter property');
		if (left && this.inParameters && this.type === tt.colon) this.annotation();
		const before = this.inConstructor;
		if (!this.inParameters) this.inConstructor = false;
		if (!left) left = this.parseBindingAtom();
		this.inConstructor = before;
		if (this.type !== tt.eq) return left;
		const parameters = this.inParameters, constructor = this.inConstructor;
		this.inParameters = this.inConstructor = false;
		const node = super.parseMaybeDefault(start, place, left);
		this.inParameters = parameters;
		this.inConstructor = constructor;
		return node;
	}
	parseVarId(decl, kind) {
		super.parseVarId(decl, kind);
		if (this.type === tt.prefix && this.value === '!' && !this.lineAbove()) {
			const start = this.start;
			this.exprAllowed = false;
			this.next();
			this.blank(start);
		}
		if (this.type === tt.colon) this.annotation();
	}
	parseFunctionParams(node) {
		if (this.less()) {
			const start = this.start;
			this.parameters();
			this.blank(start);
		}
		return super.parseFunctionParams(node);
	}
	parseFunctionBody(node, isArrow, isMethod, forInit) {
		const kept = [this.inConstructor, this.conditional, this.inParameters];
		this.inConstructor = false;
		this.conditional = 0;
		this.inParameters = false;
		if (!isArrow && this.type === tt.colon) this.annotation();
		if (!isArrow && this.type !== tt.braceL && this.mayEnd) {
			// Only a signature.
			this.semicolon();
			node.signature = true;
			node.body = this.startNode();
			node.body.body = [];
			this.finishNode(node.body, 'BlockStatement');
			this.exitScope();
		} else {
			const before = this.mayEnd;
			this.mayEnd = false;
			super.parseFunctionBody(node, isArrow, isMethod, forInit);
			this.mayEnd = before;
		}
		[this.inConstructor, this.conditional, this.inParameters] = kept;
	}
	parseFunction(node, statement, ...more) {
		const before = this.mayEnd, parameters = this.inParameters;
		this.mayEnd = Boolean(statement & 1);
		this.inParameters = false;
		const found = super.parseFunction(node, statement, ...more);
		this.mayEnd = before;
		this.inParameters = parameters;
		return found;
	}
	parseMethod(...given) {
		const before = [this.inParameters, this.mayEnd];
		this.inParameters = false;
		this.mayEnd = this.inMember === true;
		this.inMember = false;
		if (this.less()) {
			const start = this.start;
			this.parameters();
			this.blank(start);
		}
		const found = super.parseMethod(...given);
		[this.inParameters, this.mayEnd] = before;
		return found;
	}
	parsePropertyValue(prop, isPattern, ...more) {
		if (!isPattern && this.less()) {
			const start = this.start;
			this.parameters();
			this.blank(start);
		}
		return super.parsePropertyValue(prop, isPattern, ...more);
	}
	parsePropertyName(prop) {
		const before = [this.inParameters, this.conditional];
		this.inParameters = false;
		this.conditional = 0;
		const found = super.parsePropertyName(prop);
		[this.inParameters, this.conditional] = before;
		return found;
	}

	// -- expressions -------------------------------------------------------------------------------------
	arrow(isAsync, forInit, start, place) {
		// At `<` or `(`: an arrow function with types, or nothing.
		return this.attempt(() => {
			if (this.less()) {
				const from = this.start;
				this.parameters();
				this.blank(from);
			}
			if (this.type !== tt.parenL) return undefined;
			const kept = [this.yieldPos, this.awaitPos, this.awaitIdentPos, this.inConstructor];
			this.yieldPos = this.awaitPos = this.awaitIdentPos = 0;
			this.inConstructor = false;
			this.next();
			const params = this.parseBindingList(tt.parenR, false, true);
			let typed = false;
			if (this.type === tt.colon) {
				typed = true;
				this.annotation();
			}
			if (this.type !== tt.arrow || this.lineAbove()) return undefined;
			this.next();
			[this.yieldPos, this.awaitPos, this.awaitIdentPos, this.inConstructor] = kept;
			const conditional = this.conditional;
			const node = this.parseArrowExpression(this.startNodeAt(start, place), params, isAsync, forInit);
			this.conditional = conditional;
			if (typed && conditional > 0 && this.type !== tt.colon) return undefined;
			return node;
		});
	}
	parseParenAndDistinguishExpression(canBeArrow, forInit) {
		if (canBeArrow) {
			const found = this.arrow(false, forInit, this.start, this.startLoc);
			if (found) return found;
		}
		const before = [this.conditional, this.inParameters];
		this.conditional = 0;
		this.inParameters = false;
		const found = super.parseParenAndDistinguishExpression(false, forInit);
		[this.conditional, this.inParameters] = before;
		return found;
	}
	parseMaybeAssign(forInit, errors, after) {
		if (this.less()) {
			const found = this.arrow(false, forInit, this.start, this.startLoc);
			if (found) return found;
		}
		return super.parseMaybeAssign(forInit, errors, after);
	}
	parseMaybeUnary(...given) {
		if (this.less()) {
			const start = this.start;
			this.ofTypes();
			this.blank(start);
		}
		return super.parseMaybeUnary(...given);
	}
	parseExprAtom(errors, forInit) {
		if (this.word('async') && this.potentialArrowAt === this.start) {
			const start = this.start, place = this.startLoc;
			const found = this.attempt(() => {
				this.next();
				if (this.lineAbove() || !this.less() && this.type !== tt.parenL) return undefined;
				return this.arrow(true, forInit, start, place);
			});
			if (found) return found;
		}
		return super.parseExprAtom(errors, forInit);
	}
	parseMaybeConditional(forInit, errors) {
		const start = this.start, place = this.startLoc;
		const expr = this.parseExprOps(forInit, errors);
		if (this.checkExpressionErrors(errors)) return expr;
		if (this.type !== tt.question || this.optionalHere()) return expr;
		this.next();
		const node = this.startNodeAt(start, place);
		node.test = expr;
		this.conditional++;
		node.consequent = this.parseMaybeAssign();
		this.conditional--;
		this.expect(tt.colon);
		node.alternate = this.parseMaybeAssign(forInit);
		return this.finishNode(node, 'ConditionalExpression');
	}
	optionalHere() {
		return false;
	}
	parseExprOp(left, start, place, minPrec, forInit) {
		while ((this.word('as') || this.word('satisfies')) && !this.lineAbove() && minPrec < tt._in.binop) {
			const from = this.start;
			this.next();
			if (this.type === tt._const) this.next();
			else this.ofType();
			this.blank(from);
			// What looks like a pattern behind a type is a division.
			if (this.type === tt.regexp) {
				this.pos = this.start;
				this.exprAllowed = false;
				this.nextToken();
			}
		}
		return super.parseExprOp(left, start, place, minPrec, forInit);
	}
	parseSubscript(base, start, place, noCalls, maybeAsync, optional, forInit) {
		if (this.type === tt.prefix && this.value === '!' && !this.lineAbove()) {
			const from = this.start;
			this.exprAllowed = false;
			this.next();
			this.blank(from);
			// A new object: the loop that asks goes on as long as another comes.
			return Object.assign(Object.create(Object.getPrototypeOf(base)), base);
		}
		if (this.less() && !this.lineAbove()) {
			const done = this.attempt(() => {
				const from = this.start;
				this.ofTypes();
				if (this.type !== tt.parenL && this.type !== tt.backQuote && !(noCalls && this.callEnds())) return undefined;
				this.blank(from);
				return true;
			});
			if (done) {
				if (noCalls) return Object.assign(Object.create(Object.getPrototypeOf(base)), base);
				return super.parseSubscript(base, start, place, noCalls, maybeAsync, optional, forInit);
			}
		}
		const before = [this.conditional, this.inParameters];
		this.conditional = 0;
		this.inParameters = false;
		const found = super.parseSubscript(base, start, place, noCalls, maybeAsync, optional, forInit);
		[this.conditional, this.inParameters] = before;
		return found;
	}
	callEnds() {
		return this.type === tt.parenL || this.type === tt.semi || this.type === tt.parenR || this.type === tt.braceR || this.type === tt.comma || this.type === tt.eof;
	}

	// -- classes ------------------------------------------------------------------------------------------
	parseClassId(node, isStatement) {
		if (this.word('implements') && !isStatement) node.id = null;
		else super.parseClassId(node, isStatement);
		if (this.less()) {
			const start = this.start;
			this.parameters();
			this.blank(start);
		}
	}
	parseClassSuper(node) {
		if (this.eat(tt._extends)) {
			node.superClass = this.parseExprSubscripts(null, false);
			if (this.less()) {
				const start = this.start;
				this.ofTypes();
				this.blank(start);
			}
		} else node.superClass = null;
		if (this.word('implements')) {
			const start = this.start;
			do {
				this.next();
				this.operand();
			} while (this.type === tt.comma);
			this.blank(start);
		}
	}
	parseClassElement(allowsSuper) {
		const start = this.start;
		if (this.type === tt.at) this.unexpected();
		let gone = false;
		const modifiers = () => {
			while (this.type === tt.name && MODIFIERS.has(this.value) && !this.containsEsc) {
				const after = this.peek();
				const isName = after.type === tt.parenL || after.type === tt.eq || after.type === tt.semi || after.type === tt.colon || after.type === tt.braceR || after.type === tt.question || after.type === tt.relational || after.line;
				if (isName) return;
				if (this.value === 'accessor') this.unexpected();
				if (this.value === 'declare' || this.value === 'abstract') gone = true;
				const from = this.start;
				this.next();
				this.blank(from);
			}
		};
		modifiers();
		if (this.word('static')) {
			const after = this.peek();
			if (after.type === tt.name && MODIFIERS.has(after.value)) {
				// `static readonly x`: what follows `static` is blank.
				const kept = this.start;
				this.next();
				modifiers();
				return this.member(start, kept, allowsSuper, gone, true);
			}
		}
		if (this.type === tt.bracketL) {
			const index = this.attempt(() => {
				this.next();
				if (this.type !== tt.name) return undefined;
				this.next();
				if (this.type !== tt.colon) return undefined;
				this.next();
				this.ofType();
				this.expect(tt.bracketR);
				if (this.type === tt.colon) {
					this.next();
					this.ofType();
				}
				this.semicolon();
				return true;
			});
			if (index) {
				this.blank(start);
				return null;
			}
		}
		return this.member(start, -1, allowsSuper, gone, false);
	}
	member(start, keptStatic, allowsSuper, gone, isStatic) {
		const from = this.start;
		this.memberStatic = isStatic;
		const node = super.parseClassElement(isStatic ? false : allowsSuper);
		if (node && isStatic) node.static = true;
		if (node && (gone || node.value && node.value.signature)) {
			this.blank(start);
			return null;
		}
		void from;
		void keptStatic;
		return node;
	}
	parseClassElementName(element) {
		super.parseClassElementName(element);
		if (this.type === tt.question || this.type === tt.prefix && this.value === '!') {
			const start = this.start;
			this.exprAllowed = false;
			this.next();
			this.blank(start);
		}
		if (this.less()) {
			const start = this.start;
			this.parameters();
			this.blank(start);
		}
	}
	parseClassMethod(method, ...more) {
		if (this.less()) {
			const start = this.start;
			this.parameters();
			this.blank(start);
		}
		this.inMember = true;
		const before = this.inConstructor;
		this.inConstructor = method.kind === 'constructor';
		const found = super.parseClassMethod(method, ...more);
		this.inConstructor = before;
		return found;
	}
	parseClassField(field) {
		if (this.type === tt.colon) this.annotation();
		const before = [this.inParameters, this.conditional, this.inConstructor];
		this.inParameters = this.inConstructor = false;
		this.conditional = 0;
		const found = super.parseClassField(field);
		[this.inParameters, this.conditional, this.inConstructor] = before;
		return found;
	}

	// -- statements ------------------------------------------------------------------------------------------
	gone(start) {
		this.blank(start);
		this.statements = (this.statements || []);
		this.statements.push(start);
		const node = this.startNodeAt(start, undefined);
		return this.finishNode(node, 'EmptyStatement');
	}
	declaration(start) {
		// `interface`, `type` or `declare`: whether there was one.
		if (this.type !== tt.name || this.containsEsc) return false;
		const after = this.peek();
		if (this.value === 'interface' && after.type === tt.name && !after.line) {
			this.next();
			this.next();
			if (this.less()) this.parameters();
			if (this.type === tt._extends)
				do {
					this.next();
					this.operand();
				} while (this.type === tt.comma);
			this.braces();
			return true;
		}
		if (this.value === 'type' && after.type === tt.name && !after.line) {
			return this.attempt(() => {
				this.next();
				this.next();
				if (this.less()) this.parameters();
				if (this.type !== tt.eq) return undefined;
				this.next();
				this.ofType();
				this.semicolon();
				return true;
			}) || false;
		}
		if (this.value === 'declare' && !after.line && (DECLARED.has(after.value) || [tt._const, tt._var, tt._function, tt._class].includes(after.type))) {
			this.next();
			this.declared();
			return true;
		}
		void start;
		return false;
	}
	declared() {
		if (this.type === tt._const && this.peek().value === 'enum') this.next();
		const word = this.value;
		if (this.type === tt.name && (word === 'global' || word === 'namespace' || word === 'module' || word === 'enum')) {
			while (this.type !== tt.braceL) this.next();
			this.braces();
		} else if (this.type === tt._class || word === 'abstract') {
			while (this.type !== tt.braceL) {
				if (this.less()) this.ofTypes();
				else this.next();
			}
			this.braces();
		} else if (this.type === tt._function || word === 'async') {
			const before = this.mayEnd, count = this.blanks.length;
			if (this.type !== tt._function) this.next();
			const node = this.startNode();
			this.next();
			this.parseFunction(node, 1, false, false);
			this.mayEnd = before;
			this.blanks.length = count;
		} else if (word === 'type' || word === 'interface') {
			if (!this.declaration(this.start)) this.unexpected();
		} else {
			this.next();
			do {
				this.parseBindingAtomOnly();
				if (this.type === tt.colon) {
					this.next();
					this.ofType();
				}
			} while (this.eat(tt.comma));
			this.semicolon();
		}
	}
	parseBindingAtomOnly() {
		const count = this.blanks.length;
		this.parseBindingAtom();
		this.blanks.length = count;
	}
	parseStatement(context, topLevel, exports) {
		const start = this.start;
		const before = [this.inParameters, this.mayEnd, this.conditional, this.inConstructor];
		this.inParameters = this.mayEnd = this.inConstructor = false;
		this.conditional = 0;
		try {
			if (this.declaration(start)) return this.gone(start);
			if (this.type === tt.name && !this.containsEsc) {
				const after = this.peek();
				if (this.value === 'enum' && after.type === tt.name && !after.line) this.never(start, 'enum');
				if ((this.value === 'namespace' || this.value === 'module') && (after.type === tt.name || this.value === 'module' && after.type === tt.string) && !after.line) this.never(start, this.value);
				if (this.value === 'abstract' && after.type === tt._class && !after.line) {
					this.next();
					this.blank(start);
				}
			}
			if (this.type === tt._const && this.peek().value === 'enum') this.never(start, 'enum');
			const node = super.parseStatement(context, topLevel, exports);
			if (node.type === 'FunctionDeclaration' && node.signature) return this.gone(start);
			return node;
		} finally {
			[this.inParameters, this.mayEnd, this.conditional, this.inConstructor] = before;
		}
	}
	parseImport(node) {
		const start = node.start;
		const after = this.peek();
		if (after.type === tt.name && after.value === 'type') {
			const only = this.attempt(() => {
				this.next();
				this.next();
				if (this.word('from') && this.peek().type === tt.string) return undefined;
				if (this.type === tt.comma) return undefined;
				const count = this.blanks.length;
				this.parseImportSpecifiers();
				this.blanks.length = count;
				this.expectContextual('from');
				if (this.type !== tt.string) this.unexpected();
				this.next();
				this.semicolon();
				return true;
			});
			if (only) return this.gone(start);
		}
		const equals = this.attempt2(() => {
			this.next();
			if (this.type !== tt.name) return false;
			this.next();
			return this.type === tt.eq;
		});
		if (equals === true) this.never(start, '`import … =`');
		return super.parseImport(node);
	}
	specifier(close) {
		// `type X` in braces, with the comma behind it.
		while (this.word('type')) {
			const after = this.peek();
			if (after.type === tt.comma || after.type === close) return;
			if (after.value === 'as') {
				const more = this.attempt2(() => {
					this.next();
					this.next();
					const name = this.type === tt.name ? this.value : undefined;
					this.next();
					return { name, end: this.type === tt.comma || this.type === close };
				});
				// `type as x` is a name of its own; `type as as x` is a type.
				if (more.name !== undefined && more.end) return;
			}
			const start = this.start;
			this.next();
			this.next();
			if (this.eatContextual('as')) this.next();
			if (this.type === tt.comma) this.next();
			this.blank(start);
		}
	}
	parseImportSpecifiers() {
		const nodes = [];
		if (this.type === tt.name) {
			const node = this.startNode();
			node.local = this.parseIdent();
			nodes.push(this.finishNode(node, 'ImportDefaultSpecifier'));
			if (!this.eat(tt.comma)) return nodes;
		}
		if (this.type === tt.star) return nodes.concat(super.parseImportSpecifiers());
		this.expect(tt.braceL);
		for (;;) {
			this.specifier(tt.braceR);
			if (this.eat(tt.braceR)) return nodes;
			const node = this.startNode();
			node.imported = this.parseModuleExportName();
			node.local = this.eatContextual('as') ? this.parseIdent() : node.imported;
			nodes.push(this.finishNode(node, 'ImportSpecifier'));
			if (this.type !== tt.braceR) this.expect(tt.comma);
		}
	}
	parseExportSpecifiers() {
		const nodes = [];
		this.expect(tt.braceL);
		for (;;) {
			this.specifier(tt.braceR);
			if (this.eat(tt.braceR)) return nodes;
			const node = this.startNode();
			node.local = this.parseModuleExportName();
			node.exported = this.eatContextual('as') ? this.parseModuleExportName() : node.local;
			nodes.push(this.finishNode(node, 'ExportSpecifier'));
			if (this.type !== tt.braceR) this.expect(tt.comma);
		}
	}
	parseExport(node, exports) {
		const start = node.start;
		const kept = this.mark();
		this.next();
		const after = this.peek();
		if (this.word('type') && (after.type === tt.braceL || after.type === tt.star)) {
			this.next();
			if (this.type === tt.star) {
				this.next();
				if (this.eatContextual('as')) this.next();
			} else this.braces();
			if (this.eatContextual('from')) this.next();
			this.semicolon();
			return this.gone(start);
		}
		if (this.type === tt.eq || this.type === tt._import) this.never(start, '`export =`');
		if (this.word('as') && after.value === 'namespace') {
			this.next();
			this.next();
			this.next();
			this.semicolon();
			return this.gone(start);
		}
		if (this.type === tt._default && after.value === 'interface') {
			this.next();
			if (this.declaration(this.start)) return this.gone(start);
		}
		if (this.declaration(this.start)) return this.gone(start);
		if (this.word('enum') || this.type === tt._const && after.value === 'enum') this.never(start, 'enum');
		if ((this.word('namespace') || this.word('module')) && after.type === tt.name && !after.line) this.never(start, 'namespace');
		let abstract = this.word('abstract') && after.type === tt._class ? this.start : -1;
		let isDefault = false;
		if (this.type === tt._default && after.value === 'abstract') {
			this.next();
			if (this.word('abstract') && this.peek().type === tt._class) {
				abstract = this.start;
				isDefault = true;
			}
		}
		if (abstract >= 0) {
			this.next();
			this.blank(abstract, abstract + 'abstract'.length);
			const inner = this.startNode();
			node.declaration = this.parseClass(inner, isDefault ? 'nullableID' : true);
			node.specifiers = [];
			node.source = null;
			return this.finishNode(node, isDefault ? 'ExportDefaultDeclaration' : 'ExportNamedDeclaration');
		}
		this.back(kept);
		const found = super.parseExport(node, exports);
		if (found.declaration && found.declaration.signature) return this.gone(start);
		return found;
	}
	checkVariableExport() {}
	shouldParseExportStatement() {
		return this.word('abstract') || super.shouldParseExportStatement();
	}
};

const Parser = acorn.Parser.extend(Typed);

function parse(source, sourceType) {
	const parser = new Parser({
		ecmaVersion: 'latest', sourceType, allowHashBang: true, locations: false,
		allowReturnOutsideFunction: sourceType === 'script', allowAwaitOutsideFunction: sourceType === 'module',
	}, source);
	parser.parse();
	return parser;
}

exports.strip = (source, file) => {
	let parser;
	try {
		parser = parse(source, /\.cts$/.test(file) ? 'script' : 'module');
	} catch (error) {
		if (error.final || /\.mts$/.test(file)) throw error;
		parser = parse(source, 'script');
	}
	const out = [];
	let at = 0;
	for (const [start, end] of parser.blanks.sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
		if (end <= at) continue;
		const from = Math.max(start, at);
		out.push(source.slice(at, from), source.slice(from, end).replace(/[^\n\r\u2028\u2029]/g, ' '));
		at = end;
	}
	out.push(source.slice(at));
	return out.join('');
};
